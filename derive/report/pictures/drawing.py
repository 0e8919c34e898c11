"""Draws the pictures with matplotlib: vector graphics, the same bytes for the same numbers.

Colours are those of Okabe and Ito, which colour-blind readers tell apart; every curve has a line
style or a marker of its own, so that the pictures can be read in grey.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import matplotlib
import numpy as np
from matplotlib import font_manager
from matplotlib.figure import Figure as Canvas

from derive import messages
from derive.messages import say
from derive.report.model import Figure
from derive.report.pictures import curves
from derive.report.pictures.inline import inline
from numeric.positional import frequencies

BLUE, ORANGE, GREEN, RED, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#555555"
_STYLE: Final = {
    "svg.fonttype": "none", "svg.hashsalt": "derive", "pdf.fonttype": 42, "font.size": 9,
    "font.family": "DejaVu Sans", "axes.spines.top": False, "axes.spines.right": False,
    "legend.frameon": False, "lines.linewidth": 1.4, "axes.grid": True, "grid.alpha": 0.25,
    "image.cmap": "cividis", "axes.formatter.useoffset": False,
}  # fmt: skip
_WIDE: Final = (7.2, 2.7)


_CHINESE_FONTS: Final = (
    "gbsn00lp.ttf", "wqy-zenhei.ttc", "wqy-microhei.ttc", "DroidSansFallbackFull.ttf", "msyh.ttc",
    "simhei.ttf", "STHeiti Medium.ttc", "Arial Unicode.ttf",
)  # fmt: skip
"""Files of TrueType fonts, which matplotlib can embed in a PDF; the first is what Debian brings
with TeX.  They are looked for anew: matplotlib's list may be older than a font."""


def chinese_font() -> str:
    """The name of the first of the known fonts that is there; empty if none is."""
    found = {Path(path).name: path for path in font_manager.findSystemFonts()}
    path = next((found[name] for name in _CHINESE_FONTS if name in found), None)
    if path is None:
        return ""
    font_manager.fontManager.addfont(path)
    return str(font_manager.FontProperties(fname=path).get_name())


def draw(seed: int) -> tuple[Figure, ...]:
    """All pictures; the random ones start from `seed`."""
    style = _STYLE
    if messages.language() == "zh":
        # this old font has tables that fontTools complains about, and leaves out
        logging.getLogger("fontTools").setLevel(logging.ERROR)
        style = {**_STYLE, "font.family": [_STYLE["font.family"], chinese_font()]}
    with matplotlib.rc_context(style):
        return tuple(picture(seed) for picture in _PICTURES)


def _encoding(_: int) -> Figure:
    rows, gram = curves.encoding()
    canvas, (left, right) = _panels()
    shown = left.imshow(rows, aspect="auto", vmin=-1, vmax=1, interpolation="nearest")
    left.set(xlabel=say("component"), ylabel=say("position"), title=say("encoding"))
    canvas.colorbar(shown, ax=left)
    shown = right.imshow(gram, aspect="auto", interpolation="nearest")
    right.set(xlabel=say("position"), ylabel=say("position"), title=say("inner products"))
    canvas.colorbar(shown, ax=right)
    for axes in (left, right):
        axes.grid(False)
    return _figure(
        canvas, "encoding", ("positional-encoding",), say("Position encoding"),
        say(
            "Left: each row is the encoding of a position; pairs to the left turn fast, pairs to "
            "the right hardly move. Right: the inner products of all encodings. They are constant"
            " along every diagonal: they depend on the difference of the positions only "
            "(`positional-encoding/inner-product`)."
        ),
    )  # fmt: skip


def _displacement(_: int) -> Figure:
    canvas, (axes,) = _panels(1)
    rate = frequencies(128)
    between = np.geomspace(rate.min(), rate.max(), 160)  # the proved value turns between points
    styles = zip((1, 4, 16), curves.displacement(), (BLUE, ORANGE, GREEN), "os^", strict=True)
    for offset, moved, colour, marker in styles:
        axes.plot(between, curves.chord(between, offset), color=colour)
        axes.plot(
            rate, moved, marker, color=colour, ms=3, label=say("offset {offset}", offset=offset)
        )
    axes.set(xscale="log", xlabel=say("frequency of the pair"), ylabel=say("distance moved"))
    axes.legend()
    return _figure(
        canvas, "displacement", ("positional-frequencies",), say("How far a pair moves"),
        say(
            "Points: the distance between the encodings of positions 0 and $k$, pair by pair, for"
            " three offsets $k$. Lines: the proved value $2 |\\sin(k \\omega / 2)|$. In one step "
            "a pair of higher frequency always moves farther; over 4 or 16 steps it may come "
            "back, so that no such order holds (`positional-frequencies/any-offset`)."
        ),
    )  # fmt: skip


def _scores(seed: int) -> Figure:
    found = curves.scores(seed)
    canvas, panels = _panels(3)
    pairs = (
        (found.variance, found.scaled_variance, say("variance of the scores")),
        (found.entropy, found.scaled_entropy, say("entropy of the weights, nats")),
        (found.jacobian, found.scaled_jacobian, say("norm of the Jacobian")),
    )
    for axes, (plain, scaled, title) in zip(panels, pairs, strict=True):
        axes.plot(found.widths, plain, "o-", color=RED, ms=3, label=say("unscaled"))
        axes.plot(found.widths, scaled, "s--", color=BLUE, ms=3, label=say("scaled"))
        axes.set(xscale="log", xlabel=say("head width"), title=title)
        axes.title.set_size(9)
    panels[0].set(yscale="log")
    panels[0].legend()
    return _figure(
        canvas, "scores", ("scaling", "softmax"), say("What the division by the root does"),
        say(
            "Queries and keys with independent components of mean 0 and variance 1, sixteen keys a "
            "query. Unscaled, the variance of a dot product is the head width; the weights then "
            "concentrate on one key and the Jacobian of softmax, through which the gradient has to "
            "pass, goes to zero. Divided by $\\sqrt{d_k}$, all three stay where they are."
        ),
    )  # fmt: skip


def _gradients(seed: int) -> Figure:
    found = curves.gradients(seed)
    canvas, (axes,) = _panels(1)
    axes.fill_between(
        found.depths, found.lower, found.upper, color=GREY, alpha=0.15, lw=0,
        label=say("proved for residual"),
    )  # fmt: skip
    axes.plot(found.depths, curves.RHO**found.depths, color=GREY, lw=0.8)
    stacks = (
        (found.residual, ORANGE, "o", say("residual")), (found.pre, GREEN, "s", "Pre-LN"),
        (found.post, BLUE, "^", "Post-LN"), (found.plain, RED, "x", say("plain")),
    )  # fmt: skip
    for lengths, colour, marker, name in stacks:
        axes.plot(found.depths, lengths, marker + "-", color=colour, ms=3, label=name)
    axes.set(
        yscale="log", ylim=(1e-5, 1e3), xlabel=say("layers"), ylabel=say("length of the gradient")
    )
    axes.legend(ncols=3)
    return _figure(
        canvas, "gradients", ("residual", "norm-placement"), say("Gradients in deep stacks"),
        say(
            "The length of the gradient by the first input, where that by the last output has "
            "length 1. Every branch is linear and makes rows {rho} times as long. Without residual "
            "connections the gradient is ${rho}^L$ exactly (line). With them it stays between "
            "$(1-\\rho)^L$ and $(1+\\rho)^L$ (shaded, `residual/product-bounds`), which is no "
            "bound that is free of the depth (`residual/depth-free`).",
            rho=f"{curves.RHO:g}",
        ),
    )  # fmt: skip


def _shares(_: int) -> Figure:
    canvas, (left, right) = _panels()
    vocabulary = np.geomspace(1e3, 3e5, 60)
    styles = zip((2, 6, 12, 48), (RED, ORANGE, GREEN, BLUE), (":", "-.", "--", "-"), strict=True)
    for layers, colour, style in styles:
        share = [curves.feed_forward_share(curves.Model("", layers, 768, round(v), 1024))
                 for v in vocabulary]  # fmt: skip
        left.plot(
            vocabulary, share, style, color=colour, label=say("{layers} layers", layers=layers)
        )
    left.set(xscale="log", xlabel=say("vocabulary"), ylabel=say("share"), title=say("width 768"))
    left.legend()
    weights = np.geomspace(0.02, 20, 60)
    right.plot(weights, 8 / (12 + weights), color=GREY, lw=1)
    for model, marker in zip(curves.MODELS, "os^D*", strict=True):
        at = curves.load(model), curves.feed_forward_share(model)
        right.plot(*at, marker, color=BLUE, label=model.name)
    right.set(xscale="log", xlabel=say("rows of embeddings per layer and unit of width"))
    right.legend()
    for axes in (left, right):
        axes.axhline(2 / 3, color=GREY, lw=0.8, ls=":")
        axes.set(ylim=(0, 0.75))
    return _figure(
        canvas, "shares", ("parameter-shares",), say("The share of the feed-forward networks"),
        say(
            "Of all parameters of a decoder-only model with embeddings. Two thirds (dotted) is "
            "what a block without anything else has; a large vocabulary or a small depth takes "
            "from it. Right: for all models the share is about $8/(12 + x)$, where $x$ is the "
            "number of rows of the embeddings over $L\\, d_{\\text{model}}$."
        ),
    )  # fmt: skip


def _operations(seed: int) -> Figure:
    found = curves.operations(seed)
    canvas, (axes,) = _panels(1)
    axes.plot(found.tokens, found.projections, "s--", color=ORANGE, ms=4, label=say("projections"))
    axes.plot(found.tokens, found.attention, "o-", color=BLUE, ms=4, label=say("scores and sums"))
    crossover = 2 * curves.COUNTED_WIDTH
    axes.axvline(crossover, color=GREY, lw=0.8, ls=":")
    axes.text(crossover + 0.3, axes.get_ylim()[1] * 0.9, say("twice the width"), color=GREY)
    axes.set(xlabel=say("tokens"), ylabel=say("operations"))
    axes.legend(loc="center left")
    return _figure(
        canvas, "operations", ("operation-counts",), say("Projections against attention"),
        say(
            "Multiplications and additions of one attention layer of width {width}, counted one "
            "by one while it computes. The projections grow with the number of tokens, scores and "
            "weighted sums with its square; they meet at about twice the width "
            "(`operation-counts/crossover`).",
            width=curves.COUNTED_WIDTH,
        ),
    )  # fmt: skip


_PICTURES: Final[tuple[Callable[[int], Figure], ...]] = (
    _encoding, _displacement, _scores, _gradients, _shares, _operations,
)  # fmt: skip


def _panels(number: int = 2) -> tuple[Any, Any]:
    canvas = Canvas(figsize=_WIDE, layout="constrained")
    return canvas, canvas.subplots(1, number, squeeze=False)[0]


def _figure(canvas: Any, name: str, topics: tuple[str, ...], title: str, caption: str) -> Figure:
    pdf, svg = io.BytesIO(), io.StringIO()
    canvas.savefig(pdf, format="pdf", metadata={"CreationDate": None, "Producer": None,
                                                "Creator": None})  # fmt: skip
    canvas.savefig(svg, format="svg", metadata={"Date": None, "Creator": None, "Format": None,
                                                "Type": None})  # fmt: skip
    return Figure(name, title, caption, topics, pdf.getvalue(), inline(svg.getvalue(), name))
