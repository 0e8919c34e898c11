"""The places of the two notes in the order in which they stand, and what each one says.

A claim names the places that it covers; a place that no claim covers fails a test.  What is said
is told in our own words and in formulas.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from derive.claims import DERIVATIONS, INTERVIEW
from derive.result import Result


@dataclass(frozen=True)
class Place:
    """A passage of a note: its identifier, the lines where it stands, and what it says."""

    name: str
    lines: str = ""
    says: str = ""


_DERIVATIONS: Final = (
    Place("A01", "5-7", r"The base model has $h = 8$ heads and $d_{\text{model}} = 512$; "
          r"$d_k = d_v = d_{\text{model}}/h$, which is 64."),
    Place("A02", "8-9", r"Head $i$ has $W_i^Q, W_i^K \in \mathbb{R}^{d_{\text{model}} \times d_k}$ "
          r"and $W_i^V \in \mathbb{R}^{d_{\text{model}} \times d_v}$; "
          r"$W^O \in \mathbb{R}^{h d_v \times d_{\text{model}}}$."),
    Place("A03", "15-17", r"A head projects its input to a subspace of lower dimension and attends "
          r"there; its output is in $\mathbb{R}^{n \times d_v}$."),
    Place("A04", "13, 19", "The heads work independently, each with its own three matrices, and "
          "that is the point: each can attend to something else."),
    Place("A05", "21-25", r"The heads laid side by side are in "
          r"$\mathbb{R}^{n \times h d_v} = \mathbb{R}^{n \times d_{\text{model}}}$."),
    Place("A06", "27", r"$h d_v = h (d_{\text{model}}/h) = d_{\text{model}}$."),
    Place("A07", "31-33", r"$W^O$ takes the concatenation back to $d_{\text{model}}$ columns and "
          "merges what the heads have found."),
    Place("A08", "37", r"The $h$ matrices $W_i^Q$ hold $h d_{\text{model}} d_k = "
          r"d_{\text{model}}^2$ parameters, as $h d_k = d_{\text{model}}$."),
    Place("A09", "38", r"Likewise $W_i^K$ and $W_i^V$: $d_{\text{model}}^2$ each."),
    Place("A10", "39", r"$W^O$ holds $h d_v d_{\text{model}} = d_{\text{model}}^2$ parameters."),
    Place("A11", "40", r"In all the layer has $4 d_{\text{model}}^2$ parameters."),
    Place("A12", "40", "That is exactly as many as with a single head."),
    Place("A13", "42", r"$h$ heads of width $d_k = d_{\text{model}}/h$ cost about "
          r"$h \cdot O(n^2 d_k) = O(n^2 d_{\text{model}})$ operations."),
    Place("A14", "42", "The cost is of the same order as that of a single head."),
    Place("A15", "50-56", r"For positions $0, \dots, n-1$ and $i = 0, \dots, d_{\text{model}}/2-1$ "
          r"the encoding has $\sin(\mathit{pos}/10000^{2i/d_{\text{model}}})$ at $2i$ and the "
          r"cosine of the same angle at $2i+1$."),
    Place("A16", "60", "Property 1: different positions have different encodings."),
    Place("A17", "62-66", r"The addition formulas of sine and cosine."),
    Place("A18", "62, 68",
          r"Property 2: $PE_{\mathit{pos}+k}$ is a linear function of $PE_{\mathit{pos}}$."),
    Place("A19", "68-70", r"The function is the rotation with the rows "
          r"$(\cos k\omega_i, \sin k\omega_i)$ and $(-\sin k\omega_i, \cos k\omega_i)$ on the "
          r"$i$-th pair, where $\omega_i = 10000^{-2i/d_{\text{model}}}$."),
    Place("A20", "72", r"The rotation depends on the offset $k$ and not on the position; hence the "
          r"model can learn relations at offset $k$, unaffected by absolute positions."),
    Place("A21", "74", r"Property 3: components with large $i$ have a small $\omega_i$, change "
          "slowly and capture long distances; those with small $i$ change fast and capture local "
          "detail."),
    Place("A22", "78", r"$\text{FFN}(x) = W_2\,\text{ReLU}(W_1 x + b_1) + b_2$."),
    Place("A23", "80", r"$W_1 \in \mathbb{R}^{d_{ff} \times d_{\text{model}}}$, "
          r"$W_2 \in \mathbb{R}^{d_{\text{model}} \times d_{ff}}$, $d_{ff} = 4 d_{\text{model}}$."),
    Place("A24", "80", "The width is expanded four times and then compressed again."),
    Place("A25", "81", "After attention has gathered information, a non-linear function is applied "
          "to each position by itself."),
    Place("A26", "82", r"It has $2 d_{\text{model}} d_{ff} = 8 d_{\text{model}}^2$ parameters."),
    Place("A27", "82", r"That is about 2/3 of all parameters of a Transformer."),
    Place("A28", "86", r"Post-LN: $\text{output} = \text{LayerNorm}(x + \text{SubLayer}(x))$."),
    Place("A29", "88-90", r"For $y = x + f(x)$ the gradient is "
          r"$\frac{\partial L}{\partial y}\left(1 + \frac{\partial f}{\partial x}\right)$."),
    Place("A30", "92", r"Owing to the $+1$ the gradient reaches earlier layers even where "
          r"$\partial f/\partial x$ is small, so it does not vanish."),
    Place("A31", "94-96", r"$\text{LayerNorm}(x) = \frac{x - \mu}{\sigma + \epsilon}\,\gamma + "
          r"\beta$."),
    Place("A32", "98", r"$\mu$ and $\sigma$ are taken over the features, unlike in BatchNorm, "
          "which takes them over the batch."),
    Place("A33", "102-103", r"Pre-LN: $x + \text{SubLayer}(\text{LayerNorm}(x))$."),
    Place("A34", "104", "Pre-LN trains more stably, since the gradient flows through the residual "
          "path and not through a LayerNorm."),
    Place("A35", "103-104", "Pre-LN is the standard of language models since GPT-2."),
    Place("A36", "1, 44", "Two headings promise complete derivations."),
)  # fmt: skip

_INTERVIEW: Final = (
    Place("B01", "3-5", r"The division by $\sqrt{d_k}$ keeps the dot products within bounds and "
          "so mitigates vanishing or exploding gradients."),
    Place("B02", "8", r"What is divided by belongs to the width of $K$; in code "
          r"$\texttt{k.shape[1]}$ is the number of columns."),
    Place("B03", "9", r"$\texttt{k.shape[0]}$ counts rows and $\texttt{k.shape[1]}$ columns."),
    Place("B04", "10", r"So dividing by $\sqrt{d_k}$ is dividing by the dimension of $K$."),
    Place("B05", "14", r"$X$ is mapped linearly to $Q, K, V$, and these are split into the "
          r"$Q_i, K_i, V_i$ of the heads."),
    Place("B06", "20-26", "Multi-head attention in four steps: project, attend in each head, "
          "concatenate, map linearly."),
    Place("B44", "24", "Each head computes scaled dot-product attention."),
    Place("B07", "28", r"$Q, K, V$ have to be split, along the feature dimension."),
    Place("B08", "32-34", "Projection matrices and projections of space are the basis of it all."),
    Place("B09", "36-39", "What the heads attend to, and how the model settles disagreement: by "
          "more context and the other heads, else by the more common reading."),
    Place("B10", "43", "Heads may give different, even opposite, weights to one pair of words."),
    Place("B43", "41-43", "Each head looks at the input from another angle."),
    Place("B11", "47", "If all heads had one and the same pattern, the layer would degenerate to "
          "a single head."),
    Place("B12", "47-55", "Heads are like a parliament, a scientific community, areas of a brain."),
    Place("B13", "61-63", r"Attention is no more than a weighted average of $V$."),
    Place("B14", "65", "The FFN, by its ReLU, adds the non-linear transformation."),
    Place("B15", "67-73", "Softmax makes attention non-linear, too; it acts on queries and keys."),
    Place("B16", "73", r"The result of softmax is a matrix of probabilities, which multiplies "
          r"$V$."),
    Place("B17", "73", r"Nothing non-linear happens to $V$."),
    Place("B18", "73", "So each attention is a weighted average of the value vectors."),
    Place("B19", "71, 75", "With softmax alone the output of attention is still linear."),
    Place("B20", "77", "Softmax mainly normalises weights; ReLU brings the non-linearity, by which "
          "richer features can be learned."),
    Place("B22", "81", "Attention has related the words; the FFN deepens each word by itself."),
    Place("B21", "83", "The FFN brings in non-linearity, so that complex functions can be fitted."),
    Place("B47", "85", "The FFN digests what attention has gathered."),
    Place("B23", "87-95", "An example with a negated adjective; the input of the FFN is the output "
          "of attention."),
    Place("B24", "97", "The FFN holds the majority of the Transformer's parameters."),
    Place("B25", "101-103", r"From 512 to 2048 dimensions, ReLU, and back to 512."),
    Place("B26", "105-127", r"Code of the FFN: two linear layers with a ReLU between them, for "
          r"input of shape $(\mathit{batch}, \mathit{seq}, d_{\text{model}})$."),
    Place("B45", "118-125", r"Comments in the code give the shapes as 512, 2048 and 512."),
    Place("B27", "129-133", "A figure and the core formula of the FFN, both absent from the text; "
          r"$X$ is said to be the original input."),
    Place("B28", "137", r"$\text{ReLU}(x) = \max(0, x)$."),
    Place("B29", "139", "What is positive stays as it is, what is negative becomes zero."),
    Place("B30", "141", "ReLU adds non-linear expressive power and sparse activation."),
    Place("B31", "147", r"Up to $4d$ and down to $4d$; the 4 is empirical."),
    Place("B32", "149", "Going up in dimension separates information better."),
    Place("B33", "149", "Going down returns to the space that the next step needs."),
    Place("B34", "149", "A factor of 4 balances cost, size and expressive power."),
    Place("B35", "149", "The activation function loses about 50 percent of the information."),
    Place("B36", "149", "The dimension is raised before it to make up for that loss."),
    Place("B37", "151", "An activation function makes the data non-linear by losing information."),
    Place("B38", "151", "In random signal processing 50 percent is a natural optimum."),
    Place("B39", "153-155", "The two matrices come from random initialisation and gradient "
          "descent."),
    Place("B40", "157-161", r"In cross-attention $K$ and $V$ come from the input of the encoder."),
    Place("B41", "163", "A heading: residual connection and layer normalisation."),
    Place("B42", "165", "A heading: LayerNorm and BatchNorm."),
    Place("B46", "6, 30, 45, 59, 67-71, 99, 133, 145",
          "Links, questions and asides between the statements."),
)  # fmt: skip

#: The places of each note, from its first line to its last.
NOTES: Final = {DERIVATIONS: _DERIVATIONS, INTERVIEW: _INTERVIEW}


def whole(name: str) -> str:
    """The place of which this is a part: B01 for B01a."""
    return re.sub(r"(?<=\d)[a-z]$", "", name)


def places_of(document: str, named: Sequence[str]) -> tuple[Place, ...]:
    """The places of a document in its order, and after them those that only claims name."""
    known = NOTES.get(document, ())
    others = {*map(whole, named)} - {place.name for place in known}
    return (*known, *(Place(name) for name in sorted(others, key=_natural)))


def about(place: Place, results: Sequence[Result]) -> list[Result]:
    """The results that cover the place or a part of it."""
    return [r for r in results if place.name in map(whole, r.source.places)]


def _natural(name: str) -> list[tuple[int, str]]:
    """A9 before A10."""
    return [(int(p), "") if p.isdecimal() else (-1, p) for p in re.split(r"(\d+)", name)]
