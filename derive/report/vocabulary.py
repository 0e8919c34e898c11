"""The LaTeX commands that the formula reader knows by kind."""

from __future__ import annotations

from typing import Final

from derive.report.pieces import Kind


def _commands(names: str) -> frozenset[str]:
    return frozenset(rf"\{name}" for name in names.split())


FRACTIONS: Final = _commands("frac dfrac tfrac binom dbinom cfrac")
TWO_ARGUMENTS: Final = FRACTIONS | _commands("overset underset stackrel")
ONE_ARGUMENT: Final = _commands(
    "mathbb mathcal mathbf mathit mathsf mathfrak boldsymbol bm hat bar tilde vec dot ddot "
    "overline underline widehat widetilde"
)
WITH_LIMITS: Final = _commands(
    "sum prod bigcup bigcap bigoplus bigotimes coprod max min sup inf lim limsup liminf "
    "underbrace overbrace operatorname*"
)
BIG_OPERATORS: Final = _commands("sum prod int bigcup bigcap bigoplus bigotimes coprod")
FUNCTIONS: Final = _commands(
    "exp log ln sin cos tan sinh cosh tanh arcsin arccos arctan max min sup inf lim limsup "
    "liminf arg det dim ker gcd Pr deg"
)
PREFIXES: Final = _commands("partial nabla neg forall exists")
QUANTIFIERS: Final = _commands("forall exists nexists")
SIZES: Final = _commands(
    "big Big bigg Bigg bigl Bigl biggl Biggl bigr Bigr biggr Biggr bigm Bigm biggm Biggm"
)
UPRIGHT: Final = _commands(
    "text textrm textbf textit texttt textsf mbox mathrm mathtt operatorname operatorname*"
)
STYLES: Final = _commands("displaystyle textstyle scriptstyle limits nolimits")

_THIN: Final = ("\\,", "\\:", "\\>", "\\;", "\\!", "\\ ", "~")
_RELATIONS: Final = (
    "le leq ge geq ne neq approx equiv sim simeq cong propto ll gg coloneqq leqslant geqslant "
    "prec succ preceq succeq doteq triangleq lt gt"
)
_WEAK: Final = (
    "in notin ni subset subseteq supset supseteq mid nmid to mapsto parallel perp rightarrow "
    "leftarrow leftrightarrow longrightarrow hookrightarrow vdash models"
)
_ARROWS: Final = (
    "implies iff impliedby Rightarrow Leftarrow Leftrightarrow Longrightarrow Longleftarrow "
    "Longleftrightarrow"
)
_CONNECTIVES: Final = "land lor wedge vee"
_SUMS: Final = "pm mp oplus cup cap setminus sqcup"
_PRODUCTS: Final = "cdot times odot otimes circ bmod ast star div bullet"
_OPENING: Final = "langle lfloor lceil lbrace lbrack lvert lVert"
_CLOSING: Final = "rangle rfloor rceil rbrace rbrack rvert rVert"

KIND_OF: Final[dict[str, Kind]] = {
    **dict.fromkeys(_commands(_RELATIONS) | {"=", "<", ">", ":="}, Kind.RELATION),
    **dict.fromkeys(_commands(_WEAK) | {":", r"\colon"}, Kind.WEAK_RELATION),
    **dict.fromkeys(_commands(_ARROWS), Kind.ARROW),
    **dict.fromkeys(_commands(_CONNECTIVES), Kind.CONNECTIVE),
    **dict.fromkeys(_commands(_SUMS) | {"+", "-"}, Kind.SUM),
    **dict.fromkeys(_commands(_PRODUCTS) | {"*"}, Kind.PRODUCT),
    **dict.fromkeys(_commands(_OPENING) | {"(", "[", r"\{"}, Kind.OPEN),
    **dict.fromkeys(_commands(_CLOSING) | {")", "]", r"\}"}, Kind.CLOSE),
    **dict.fromkeys({",", ";"}, Kind.PUNCTUATION),
    **dict.fromkeys({"/", "|", r"\|", r"\backslash"}, Kind.SLASH),
    **dict.fromkeys(_THIN, Kind.THIN_SPACE),
    **dict.fromkeys(_commands("quad qquad"), Kind.WIDE_SPACE),
    **dict.fromkeys(BIG_OPERATORS, Kind.BIG_OPERATOR),
    **dict.fromkeys((FUNCTIONS | PREFIXES) - BIG_OPERATORS, Kind.OPERATOR),
}
"""Kind of a token; a token that is missing here is ordinary."""
