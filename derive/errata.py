"""Errors and ambiguities of the two notes, and what should stand there, in our own words.

Where a claim settles the matter, the claim is named; a test fails if there is none of that name.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from derive.claims import DERIVATIONS, INTERVIEW


@dataclass(frozen=True)
class Erratum:
    """A fault of a note: the places it concerns, what is wrong, and what should stand there.

    `claims` are the ids of the claims that show it.
    """

    places: tuple[str, ...]
    problem: str
    instead: str
    claims: tuple[str, ...] = ()


_DERIVATIONS: Final = (
    Erratum(
        ("A01", "A36"),
        "A complete derivation is announced, but softmax, the scaled scores and the mask are never "
        "defined, and $n$ stands for the number of queries as well as for the number of keys.",
        r"$\text{Attention}(Q,K,V) = A V$, where row $t$ of $A$ is the softmax of the scores "
        r"$S_{ts} = \frac{1}{\sqrt{d_k}} \sum_c Q_{tc} K_{sc}$ for $t < n$ queries and $s < m$ "
        "keys.",
        ("remarks/complete-derivations", "multi-head/one-row-per-query"),
    ),
    Erratum(
        ("A12",),
        "It is left open what the single head is that is said to have exactly as many parameters.",
        r"A single head of width $d_k = d_v = d_{\text{model}}$ that keeps its $W^O$ has as many; "
        r"without $W^O$ it has $3 d_{\text{model}}^2$.",
        ("parameters/single-head", "parameters/single-head-without-output"),
    ),
    Erratum(
        ("A13",),
        r"$O(n^2 d_{\text{model}})$ counts the scores and the weighted sums only: the four "
        r"projections cost about $8 n d_{\text{model}}^2$ operations, and the softmax grows with "
        "$h$.",
        r"The layer costs $O(n^2 d_{\text{model}} + n d_{\text{model}}^2)$ operations; it is of "
        r"order $n^2 d_{\text{model}}$ only where $n$ is at least of the order of "
        r"$d_{\text{model}}$.",
        ("operation-counts/layer", "operation-counts/layer-order"),
    ),
    Erratum(
        ("A15",),
        "The index $i$ is called the index of a dimension, and nothing is said of the parity of "
        r"$d_{\text{model}}$.",
        r"$i$ counts pairs of components, and $d_{\text{model}}$ is even; at an odd width the last "
        "sine has no partner.",
        ("positional-encoding/partition", "positional-encoding/odd-width"),
    ),
    Erratum(
        ("A20",),
        "From one linear map for every offset it is concluded that relations at an offset are "
        "learned unaffected by the absolute position.",
        "The map exists, but scores of tokens with their encodings depend on the position as well; "
        "they depend on the offset alone only for special matrices.",
        ("positional-scores/any-form", "positional-scores/tokens"),
    ),
    Erratum(
        ("A22", "A26"),
        r"The formula of the feed-forward network has biases, its number of parameters has none.",
        r"With biases it is $8 d_{\text{model}}^2 + 5 d_{\text{model}}$; $8 d_{\text{model}}^2$ "
        "counts the two matrices only.",
        ("parameters/feed-forward-formula", "parameters/feed-forward"),
    ),
    Erratum(
        ("A02", "A22"),
        "Tokens are rows in the formulas of attention and columns in those of the feed-forward "
        "network.",
        r"With one token per row throughout, $\text{FFN}(X) = \text{ReLU}(X W_1 + b_1) W_2 + b_2$ "
        r"with $W_1 \in \mathbb{R}^{d_{\text{model}} \times d_{ff}}$.",
        ("feed-forward/shapes",),
    ),
    Erratum(
        ("A27",),
        "The share of two thirds leaves out cross-attention and the embeddings. It is wrong for "
        "the base model of the original Transformer.",
        r"The feed-forward network holds two thirds of a block with one attention layer, counted "
        r"without biases and normalisation, and less of everything else.",
        ("parameter-shares/two-thirds", "parameter-shares/transformer-base"),
    ),
    Erratum(
        ("A28", "A29", "A30"),
        "The gradient of a residual block stands under Post-LN without the Jacobian of LayerNorm; "
        "1 is written for the identity matrix, and neither layout nor order of the factors is "
        "said. A small derivative by the input is taken for a sub-layer that hardly learns.",
        r"$\frac{\partial \mathcal{L}}{\partial x} = \frac{\partial \mathcal{L}}{\partial y} "
        r"(I + J)$ for row gradients without LayerNorm, and "
        r"$\frac{\partial \mathcal{L}}{\partial y} J_{LN} (I + J)$ in Post-LN. With $J = -I$ the "
        "gradient is lost in spite of the $+1$.",
        (
            "residual/jacobian",
            "residual/scalar-one",
            "norm-placement/post-ln-jacobian",
            "residual/no-vanishing",
            "residual/small-is-not-idle",
        ),
    ),
    Erratum(
        ("A31",),
        r"$\sigma + \epsilon$ is not the divisor of the original LayerNorm. Whether $\sigma$ "
        r"divides by $d$ or by $d - 1$, and which shape $\gamma$ and $\beta$ have, is not said.",
        r"$\frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} \odot \gamma + \beta$ with "
        r"$\sigma^2 = \frac{1}{d} \sum_c (x_c - \mu)^2$ and $\gamma, \beta \in \mathbb{R}^d$.",
        ("layer-norm/two-forms", "layer-norm/same-divisor"),
    ),
    Erratum(
        ("A04", "A20"),
        "Quotation marks that do not match.",
        "Matching quotation marks; the mathematics is not concerned.",
    ),
)

_INTERVIEW: Final = (
    Erratum(
        ("B02", "B04"),
        r"The divisor is called the dimension of $K$, and $\texttt{k.shape[1]}$ is given for it.",
        r"The divisor is the square root of the number of columns of a key; that is "
        r"$\texttt{k.shape[-1]}$, and $\texttt{k.shape[1]}$ only where $K$ is a matrix.",
        ("scaling/root-is-width", "softmax/columns"),
    ),
    Erratum(
        ("B05", "B06", "B07"),
        "$Q, K, V$ stand for the projected matrices in one place and for the inputs of the layer "
        "in another.",
        "Two names: inputs, and what the projections make of them. Then splitting the projected "
        "matrices and projecting for each head agree.",
        ("head-split/both-ways-agree", "head-split/split-before-projection"),
    ),
    Erratum(
        ("B11",),
        "It is left open what the single head is to which a layer with one pattern degenerates.",
        "A single head with values of width $h d_v$; one of the old width is not enough.",
        ("one-pattern/one-head", "one-pattern/narrow-head"),
    ),
    Erratum(
        ("B19",),
        "The output of attention is called linear.",
        "It is linear in $V$ for fixed $Q$ and $K$. As a function of its input, self-attention is "
        "not linear.",
        ("attention-average/linear-in-values", "attention-average/self-attention"),
    ),
    Erratum(
        ("B23",),
        "The output of attention is called the input of the feed-forward network.",
        "Between the two stand the residual sum and a LayerNorm.",
        ("feed-forward/input",),
    ),
    Erratum(
        ("B24",),
        "The majority of all parameters leaves out cross-attention and the embeddings. It is wrong "
        "for the base model of the original Transformer and for GPT-2 small.",
        "The feed-forward networks hold the majority of a block with one attention layer; of a "
        "model, if it is deep and wide enough for its vocabulary.",
        (
            "parameter-shares/majority",
            "parameter-shares/transformer-base-majority",
            "parameter-shares/gpt2-small-majority",
        ),
    ),
    Erratum(
        ("B02", "B27", "B40"),
        "Code, figures and formulas are referred to that are not in the note.",
        "They have to be given, or the references left out.",
        ("remarks/missing-figure",),
    ),
    Erratum(
        ("B31",),
        r"The second matrix is said to go down to $4d$.",
        r"It goes down to $d$.",
        ("feed-forward/residual-width",),
    ),
    Erratum(
        ("B35", "B36"),
        "A loss of 50 percent of the information is claimed without a measure of information, and "
        "made the reason for four times the width.",
        "The loss depends on the measure: half of the mean square for symmetric pre-activations, "
        "two thirds of the variance of a Gaussian, nothing at all in a layer of twice the width "
        "with suitable weights. A loss of one half would give the factor 2, not 4.",
        (
            "information-loss/half-energy",
            "information-loss/half-variance",
            "information-loss/half-of-the-bits",
            "expansion/factor-for-half",
            "injectivity/four-times-needed",
        ),
    ),
    Erratum(
        ("B37",),
        "Non-linearity is put down to the loss of information.",
        "Neither follows from the other: leaky ReLU loses nothing and is not linear, and a linear "
        "map may lose information.",
        (
            "nonlinearity/non-linear-only-by-loss",
            "nonlinearity/linear-without-loss",
        ),
    ),
    Erratum(
        ("B40",),
        "In cross-attention, keys and values are said to come from the input of the encoder.",
        "They come from the output of the encoder.",
        ("cross-attention/memory-source",),
    ),
)

#: The faults of each note, in the order of their places.
ERRATA: Final = {DERIVATIONS: _DERIVATIONS, INTERVIEW: _INTERVIEW}


def errata_of(document: str, ids: Collection[str], *, complete: bool) -> tuple[Erratum, ...]:
    """The faults that claims among `ids` show; in a complete report all of the note."""
    faults = ERRATA.get(document, ())
    return tuple(fault for fault in faults if complete or not {*fault.claims}.isdisjoint(ids))
