"""What layers are made of: a sublayer with its norm and the residual connection around it.

`f_pullback` returns the output of `f` and its pullback, a function from a cotangent of the output
to the gradients of everything that `f` depends on. The pullback remembers what the forward pass
has computed, so that a deep model is run forward once and backward once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from numeric.activations import RELU, SILU, Activation
from numeric.arrays import Array, add_to
from numeric.feed_forward import feed_forward_pullback as plain_pullback
from numeric.feed_forward import gated_feed_forward_pullback
from numeric.layer_weights import LayerNormWeights, NetworkWeights, NormWeights, RMSNormWeights
from numeric.multi_head import multi_head_attention_pullback
from numeric.multi_head import self_attention_pullback as one_input_pullback
from numeric.normalization import layer_norm_pullback, rms_norm_pullback
from numeric.rotary import Rotary
from numeric.weights import GatedFeedForwardWeights, MultiHeadWeights

#: cotangent -> gradients of the input and of whatever else the output depends on
Pullback = Callable[[Array], tuple[Any, ...]]
#: input -> output and pullback
Differentiable = Callable[[Array], tuple[Array, Pullback]]


@dataclass(frozen=True)
class LayerOptions:
    """What a layer is besides its weights.

    norm_first: x + sublayer(norm(x)) (Pre-LN) in place of norm(x + sublayer(x)) (Post-LN, as in
    the original Transformer). activation: of the feed-forward network, ReLU in a plain and SiLU
    in a gated one unless given. rotary: how self-attention turns queries and keys by their
    positions, not at all unless given. epsilon: of the norms, inside the root.
    """

    norm_first: bool = False
    activation: Activation | None = None
    rotary: Rotary | None = None
    epsilon: float = 1e-5

    def __post_init__(self) -> None:
        for name, kind in {"activation": Activation, "rotary": Rotary}.items():
            value = getattr(self, name)
            if not isinstance(value, kind | None):
                raise TypeError(f"{name} is {value!r}; expected {kind.__name__} or None")


#: The layers of the original Transformer.
POST_LN = LayerOptions()


def residual_block(
    x: Array, sublayer: Differentiable, norm: Differentiable, options: LayerOptions
) -> tuple[Array, Pullback]:
    """x (..., d_model) -> the same shape; cotangent -> gradients of x, of whatever else the
    sublayer depends on, and of the weights of the norm."""
    return (_pre_norm if options.norm_first else _post_norm)(x, sublayer, norm)


def _pre_norm(x: Array, sublayer: Differentiable, norm: Differentiable) -> tuple[Array, Pullback]:
    normed, norm_pullback = norm(x)
    branch, sublayer_pullback = sublayer(normed)

    def pullback(cotangent: Array) -> tuple[Any, ...]:
        grad_normed, *grads = sublayer_pullback(cotangent)
        through_branch, grad_norm = norm_pullback(grad_normed)
        return add_to(through_branch, cotangent), *grads, grad_norm

    return add_to(branch, x), pullback


def _post_norm(x: Array, sublayer: Differentiable, norm: Differentiable) -> tuple[Array, Pullback]:
    branch, sublayer_pullback = sublayer(x)
    output, norm_pullback = norm(add_to(branch, x))

    def pullback(cotangent: Array) -> tuple[Any, ...]:
        grad_total, grad_norm = norm_pullback(cotangent)
        through_branch, *grads = sublayer_pullback(grad_total)
        return add_to(through_branch, grad_total), *grads, grad_norm

    return output, pullback


def norm_pullback(x: Array, weights: NormWeights, options: LayerOptions) -> tuple[Array, Pullback]:
    """x (..., d_model) -> the same shape; cotangent -> gradients of x and of the weights."""
    if isinstance(weights, RMSNormWeights):
        return _rms_norm_pullback(x, weights.gamma, options.epsilon)
    gamma = weights.gamma
    beta = np.zeros_like(gamma) if weights.beta is None else weights.beta
    output, by_fields = layer_norm_pullback(x, gamma, beta, epsilon=options.epsilon)

    def pullback(cotangent: Array) -> tuple[Array, LayerNormWeights]:
        grad_x, grad_gamma, grad_beta = by_fields(cotangent)
        return grad_x, LayerNormWeights(grad_gamma, None if weights.beta is None else grad_beta)

    return output, pullback


def _rms_norm_pullback(x: Array, gamma: Array, epsilon: float) -> tuple[Array, Pullback]:
    output, by_fields = rms_norm_pullback(x, gamma, epsilon=epsilon)

    def pullback(cotangent: Array) -> tuple[Array, RMSNormWeights]:
        grad_x, grad_gamma = by_fields(cotangent)
        return grad_x, RMSNormWeights(grad_gamma)

    return output, pullback


def final_norm_pullback(
    x: Array, weights: NormWeights | None, options: LayerOptions
) -> tuple[Array, Pullback]:
    """x itself where there is no norm behind the last layer."""
    if weights is None:
        return x, lambda cotangent: (cotangent, None)
    return norm_pullback(x, weights, options)


def self_attention_pullback(
    x: Array, weights: MultiHeadWeights, mask: npt.ArrayLike | None, options: LayerOptions
) -> tuple[Array, Pullback]:
    """x (..., n, d_model) -> the same shape; cotangent -> gradients of x and of the weights."""
    return one_input_pullback(x, weights, mask=mask, rotary=options.rotary)


def cross_attention_pullback(
    x: Array, memory: Array, weights: MultiHeadWeights, mask: npt.ArrayLike | None
) -> tuple[Array, Pullback]:
    """x (..., n, d_model), memory (..., m, d_memory) -> the shape of x; cotangent -> gradients
    of x, of the memory (which is keys and values at once) and of the weights."""
    output, by_role = multi_head_attention_pullback(x, memory, memory, weights, mask=mask)

    def pullback(cotangent: Array) -> tuple[Array, Array, MultiHeadWeights]:
        grad_x, as_keys, as_values, grad_weights = by_role(cotangent)
        return grad_x, as_keys + as_values, grad_weights

    return output, pullback


def feed_forward_pullback(
    x: Array, weights: NetworkWeights, options: LayerOptions
) -> tuple[Array, Pullback]:
    """x (..., d_model) -> the same shape; cotangent -> gradients of x and of the weights."""
    if isinstance(weights, GatedFeedForwardWeights):
        return gated_feed_forward_pullback(x, weights, activation=options.activation or SILU)
    return plain_pullback(x, weights, activation=options.activation or RELU)
