"""The affine map in row convention: one token per row, `x @ weight + bias`."""

from __future__ import annotations

import math

import numpy.typing as npt

from numeric.arrays import Array, add_to, as_floating, require_shape, transpose
from numeric.memory import matmul


def linear(x: npt.ArrayLike, weight: Array, bias: Array | None = None) -> Array:
    """x (..., d_in), weight (d_in, d_out), bias (d_out,) or None -> (..., d_out)."""
    x, weight = as_floating(x), as_floating(weight)
    _check(x, weight, bias)
    product = matmul(_tokens(x), weight).reshape(*x.shape[:-1], weight.shape[1])
    return product if bias is None else add_to(product, bias)


def linear_vjp(
    x: npt.ArrayLike, weight: Array, bias: Array | None, cotangent: npt.ArrayLike
) -> tuple[Array, Array, Array | None]:
    """cotangent (..., d_out) -> gradients of x, weight and bias (None where there is no bias)."""
    x, weight, cotangent = as_floating(x), as_floating(weight), as_floating(cotangent)
    _check(x, weight, bias)
    require_shape("cotangent", cotangent, {"d_out": weight.shape[1]}, leading=x.shape[:-1])
    # All tokens share weight and bias, so their contributions add up, whatever axes they stand in.
    tokens, token_cotangents = _tokens(x), _tokens(cotangent)
    grad_bias = None if bias is None else token_cotangents.sum(axis=0)
    grad_x = matmul(token_cotangents, transpose(weight)).reshape(x.shape)
    return grad_x, matmul(transpose(tokens), token_cotangents), grad_bias


def _tokens(x: Array) -> Array:
    """(..., d) -> (tokens, d): one product for all tokens, whatever axes they stand in."""
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def _check(x: Array, weight: Array, bias: Array | None) -> None:
    require_shape("weight", weight, {"d_in": None, "d_out": None})
    d_in, d_out = weight.shape
    require_shape("x", x, {"d_in": d_in}, leading=None)
    if bias is not None:
        require_shape("bias", as_floating(bias), {"d_out": d_out})
