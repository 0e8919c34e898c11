"""What has to be translated, and what is not: the catalogues in `derive/locale`.

``python -m derive.translations`` names every text that has no translation, and every translation
that has lost a formula, a name or a field; the exit status is then 1.  With names of domains it
looks at what these files hold and settles no claims.  With ``--update`` it brings the catalogues up
to date, which needs Babel: new texts come in without a translation, those that have changed a
little are marked fuzzy, those that are gone are removed.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import derive
from derive import messages, po, runner, store, wording
from derive.catalogue import all_claims
from derive.claim import Claim
from derive.errata import ERRATA
from derive.kernel.axioms import AXIOMS, EVALUATIONS
from derive.mutations import made_for
from derive.places import NOTES
from derive.report import localizing
from derive.report.document import topic_title
from derive.report.guide import rule_in_words
from derive.report.localizing import NOTES as NOTES_DOMAIN
from derive.report.localizing import PUBLISHED, TRUSTED
from derive.report.notes import TITLES
from derive.result import MutationView, Result, TwinStatus, TwinView

_ROOT: Final = Path(derive.__path__[0])
_ZH: Final = "zh"


@dataclass(frozen=True)
class Text:
    """A message of a domain, and where it comes from; a plural where it counts something."""

    domain: str
    message: str
    where: str
    plural: str = ""


# ---------------------------------------------------------------------------- all texts


def texts(results: Iterable[Result]) -> list[Text]:
    """Every text of ours that a report of these results can hold, each once in its domain."""
    of_ours = (*of_the_program(), *of_the_notes(), *of_the_trusted_base(), *of_the_models())
    return [*_distinct(of_ours), *of_claims(results)]


def _distinct(found: Iterable[Text]) -> list[Text]:
    """Each text once in its domain, without those that need no translation."""
    wanted: dict[tuple[str, str], Text] = {}
    for text in found:
        said = text.domain != messages.PROGRAM and text.message in _said_by_the_program()
        if not said and (text.domain == messages.PROGRAM or _has_words(text.message)):
            wanted.setdefault((text.domain, text.message), text)
    return list(wanted.values())


@cache
def _said_by_the_program() -> frozenset[str]:
    return frozenset(text.message for text in of_the_program())


def _has_words(message: str) -> bool:
    """A text that is a formula, a name or a number is the same in every language."""
    rest = re.sub(r"(?<!\\)\$[^$]*\$|`[^`]*`", "", message)
    return re.search(r"[A-Za-z]{2}", rest) is not None


def of_claims(results: Iterable[Result]) -> list[Text]:
    """Every text of the claims, and the headings of their topics."""
    return _distinct(text for result in results for text in _of_claim(result))


def _of_claim(result: Result) -> list[Text]:
    heading = topic_title(result.topic)
    found = [Text(messages.PROGRAM, heading, f"heading of {result.topic}")]
    domain = localizing.domain_of(result.topic)

    def note(text: str, what: str) -> str:
        composed = what in localizing.FOUND_OUT and localizing.template_of(text) is not None
        if what not in (localizing.FORMULA, localizing.AXIOM) and not composed:
            found.append(Text(domain, text, f"{result.id}: {what}"))
        return text

    localizing.with_texts(result, note)
    return found


def of_the_notes() -> Iterator[Text]:
    for document, title in TITLES.items():
        yield Text(NOTES_DOMAIN, title, f"title of {document}")
    for places in NOTES.values():
        for place in places:
            yield Text(NOTES_DOMAIN, place.says, f"what {place.name} says")
    for errata in ERRATA.values():
        for erratum in errata:
            at = ", ".join(erratum.places)
            yield Text(NOTES_DOMAIN, erratum.problem, f"what is wrong in {at}")
            yield Text(NOTES_DOMAIN, erratum.instead, f"what should stand in {at}")


def of_the_trusted_base() -> Iterator[Text]:
    from derive.kernel.rules import RULES

    for name in RULES:
        yield Text(TRUSTED, rule_in_words(name), f"rule {name}")
    for table in (AXIOMS, EVALUATIONS):
        for name, fact in table.items():
            yield Text(TRUSTED, fact.citation, f"citation of {name}")
            if wording.in_words(fact.condition):
                yield Text(TRUSTED, fact.condition, f"condition of {name}")


def of_the_models() -> Iterator[Text]:
    from derive.report import models

    for text, where in models.texts():
        yield Text(PUBLISHED, text, where)


# ---------------------------------------------------------------------------- words of the program


def of_the_program() -> Iterator[Text]:
    """The arguments of `say`, `mark` and `counted`, wherever they are called."""
    for path in sorted(_ROOT.rglob("*.py")):
        source = path.read_bytes()
        if b"messages" not in source:
            continue
        where = str(path.relative_to(_ROOT))
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call):
                yield from _said(node, where)


def _said(call: ast.Call, where: str) -> Iterator[Text]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    words = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    if name in ("say", "mark") and words:
        yield Text(messages.PROGRAM, words[0], where)
    elif name == "counted" and len(words) >= 2:
        yield Text(messages.PROGRAM, words[0], where, plural=words[1])


def held(domains: Sequence[str], language: str = _ZH) -> list[Text]:
    """What the files of these domains hold already."""
    return [
        Text(domain, entry.msgid, "", plural=entry.plural)
        for domain in domains
        for entry in messages.entries_of(language, domain)
        if entry.msgid
    ]


# ---------------------------------------------------------------------------- what is wrong


def faults(wanted: Sequence[Text], language: str = _ZH) -> list[str]:
    """What is missing or wrong in the catalogues of a language, a line each."""
    out: list[str] = []
    entries: dict[str, dict[str, po.Entry]] = {}
    for text in wanted:
        if text.domain not in entries:
            known = messages.entries_of(language, text.domain)
            entries[text.domain] = {e.msgid: e for e in known}
        entry = entries[text.domain].get(text.message)
        at = ": ".join(filter(None, (f"{text.domain}.po", text.where, repr(text.message))))
        if entry is None or not entry.translated:
            out.append(f"{at}: has no translation")
        else:
            lost = [why for told in entry.translations.values() for why in _lost(entry, told)]
            out += [f"{at}: {why}" for why in dict.fromkeys(lost)]
    return out


_MATH: Final = re.compile(r"(?<!\\)\$([^$]*)\$")
_CODE: Final = re.compile(r"`[^`]+`|\b[A-Za-z]\w*_\w+\b", re.ASCII)
_FIELD: Final = re.compile(r"\{[a-z_]+\}")
_SAID_IN_MATH: Final = re.compile(r"\\text\{([^{}]* [^{}]*)\}")


def _lost(entry: po.Entry, told: str) -> Iterator[str]:
    """Formulas, names and fields that are not the same in both languages."""
    sources = [s for s in (entry.msgid, entry.plural) if s]
    for what, parts in (("formulas", _formulas), ("names", _names), ("fields", _fields)):
        if all(parts(source) != parts(told) for source in sources):
            missing = parts(sources[0]) - parts(told)
            added = parts(told) - parts(sources[0])
            yield f"its {what} differ: {_listed('lacks', missing)}{_listed('adds', added)}"
    left = english(told)
    if left and told not in sources:
        yield f"English is left in it: {left}"


_WORKS: Final = (
    "Principles of Mathematical Analysis",
    "The Art of Computer Programming",
    "A simple proof that pi is irrational",
    "Linear Algebra Done Right",
    "Attention Is All You Need",
    "Probability and Measure",
    "Mathematical Functions",
    "EleutherAI cookbook",
    "derive certify",
)
"""Titles and names of several words, which stay as they are."""

_RUN_OF_WORDS: Final = re.compile(r"\b[A-Za-z]{2,}(?:['’-][A-Za-z]+)*(?: [a-z]{2,})+\b")


def english(text: str) -> str:
    """The first run of two or more English words; names and formulas do not count."""
    bare = _CODE.sub("·", _MATH.sub("·", text))
    for work in _WORKS:
        bare = bare.replace(work, "·")
    found = _RUN_OF_WORDS.search(bare)
    return found[0] if found else ""


def _listed(verb: str, parts: Counter[str]) -> str:
    return f"{verb} {', '.join(parts)} " if parts else ""


def _formulas(text: str) -> Counter[str]:
    """Words within a formula may be translated, names of symbols may not."""
    return Counter(_SAID_IN_MATH.sub(r"\\text{}", f) for f in _MATH.findall(text))


def _names(text: str) -> Counter[str]:
    return Counter(_CODE.findall(_MATH.sub("", text)))


def _fields(text: str) -> Counter[str]:
    return Counter(_FIELD.findall(_MATH.sub("", text)))


# ---------------------------------------------------------------------------- bringing up to date


_HEAD: Final = """# How to translate: derive/locale/README.md
msgid ""
msgstr ""
"Language: {language}\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: nplurals=1; plural=0;\\n"

"""


def update(wanted: Sequence[Text], language: str = _ZH) -> None:
    """Write the catalogues anew, with what is translated already; needs Babel."""
    from babel.messages import pofile

    folder = _ROOT / "locale" / language / "LC_MESSAGES"
    folder.mkdir(parents=True, exist_ok=True)
    by_domain: dict[str, list[Text]] = {}
    for text in wanted:
        by_domain.setdefault(text.domain, []).append(text)
    for domain, listed in by_domain.items():
        path = folder / f"{domain}.po"
        body = io.BytesIO()
        pofile.write_po(body, _merged(path, listed, language), width=96, omit_header=True)
        path.write_bytes(_HEAD.format(language=language).encode() + body.getvalue().lstrip())
    for path in folder.glob("*.po"):
        if path.stem not in by_domain:
            path.unlink()


def _merged(path: Path, listed: Sequence[Text], language: str) -> Any:
    from babel.messages import pofile
    from babel.messages.catalog import Catalog

    template = Catalog(charset="utf-8")
    for text in listed:
        shown = (text.message, text.plural) if text.plural else text.message
        template.add(shown, auto_comments=[text.where])
    if path.exists():
        with path.open("rb") as stream:
            known = pofile.read_po(stream, locale=language)
        # without its head, Babel would count the head as a message that has changed
        known.update(template, no_fuzzy_matching=False)
        known.obsolete.clear()
    else:
        known = Catalog(locale=language, charset="utf-8")
        for text in listed:
            shown = (text.message, text.plural) if text.plural else text.message
            known.add(shown, auto_comments=[text.where])
    for message in known:
        # braces of formulas are not those of Python's formats
        message.flags -= {"python-brace-format", "python-format"}
    return known


# ---------------------------------------------------------------------------- the command


def settled() -> list[Result]:
    """Every claim as it is settled, with what its twin and its mutations say; neither is run."""
    claims = all_claims()
    proofs = [replace(c, twin=None) for c in claims]
    found = runner.verify(proofs, jobs=os.cpu_count() or 1, store=store.open_store())
    return [_with_words(claim, result) for claim, result in zip(claims, found, strict=True)]


def _with_words(claim: Claim, result: Result) -> Result:
    compares = claim.twin.compares if claim.twin is not None else ""
    said = tuple(MutationView(m.says) for m in made_for(claim))
    return replace(result, twin=TwinView(TwinStatus.AGREES, reason=compares), mutations=said)


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status: 1 if something is not translated, or not as it has to be."""
    parser = argparse.ArgumentParser(
        prog="python -m derive.translations", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--update", action="store_true", help="write the catalogues anew")
    parser.add_argument(
        "domains", nargs="*", metavar="DOMAIN",
        help="only these files, such as claims-softmax, and only what stands in them: at once",
    )  # fmt: skip
    args = parser.parse_args(argv)
    if args.update and args.domains:
        parser.error("--update brings all files up to date; name none")
    unknown = [name for name in args.domains if not messages.entries_of(_ZH, name)]
    if unknown:
        print(f"{parser.prog}: there is no file of {', '.join(unknown)}", file=sys.stderr)
        return 2
    wanted = held(args.domains) if args.domains else texts(settled())
    if args.update:
        update(wanted)
    found = faults(wanted)
    for fault in found:
        print(fault)
    print(f"{len(wanted)} texts, {len(found)} to be mended", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
