"""What a `state_dict` of PyTorch has to hold: names, and shapes that fit together.

A layout gives every array of a module its axes; `checked` reads a mapping against it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array, as_floating

_Value = TypeVar("_Value")
State = Mapping[str, npt.ArrayLike]
#: The axes of every array: names of sizes, or "3*E" for three times the size E.
Layout = dict[str, tuple[str, ...]]

#: Of queries, keys and values, where their inputs differ in width.
SEPARATE = ("q_proj_weight", "k_proj_weight", "v_proj_weight")


def norm_layout(bias: bool, size: str = "d") -> Layout:
    return {"weight": (size,)} | _biases(bias, {"bias": (size,)})


def attention_layout(bias: bool, packed: bool = True) -> Layout:
    """`packed` where queries, keys and values are read from inputs of one width."""
    if packed:
        projections: Layout = {"in_proj_weight": ("3*E", "E")}
    else:
        widths = ("E", "kdim", "vdim")
        projections = {name: ("E", width) for name, width in zip(SEPARATE, widths, strict=True)}
    in_proj_bias = _biases(bias, {"in_proj_bias": ("3*E",)})
    out_proj_bias = _biases(bias, {"out_proj.bias": ("E",)})
    return projections | in_proj_bias | {"out_proj.weight": ("E", "E")} | out_proj_bias


def _layer_layout(attentions: Iterable[str], norms: int, bias: bool) -> Layout:
    layout: Layout = {}
    for name in attentions:
        layout |= behind(f"{name}.", attention_layout(bias))
    layout |= {"linear1.weight": ("d_ff", "E")} | _biases(bias, {"linear1.bias": ("d_ff",)})
    layout |= {"linear2.weight": ("E", "d_ff")} | _biases(bias, {"linear2.bias": ("E",)})
    for number in range(1, norms + 1):
        layout |= behind(f"norm{number}.", norm_layout(bias, "E"))
    return layout


def encoder_layer_layout(bias: bool) -> Layout:
    return _layer_layout(["self_attn"], 2, bias)


def decoder_layer_layout(bias: bool) -> Layout:
    return _layer_layout(["self_attn", "multihead_attn"], 3, bias)


def stack_layout(
    state: State, layer_layout: Callable[[bool], Layout], final_norm: bool = False
) -> Layout:
    """As many layers as the state has, and a norm if it has one or has to have one."""
    layers, norm = within("layers.", state), within("norm.", state)
    layout: Layout = {}
    for number in range(max(1, depth(state))):
        layout |= nested(f"layers.{number}.", layer_layout(has_bias(layers)))
    if norm or final_norm:
        layout |= behind("norm.", norm_layout(has_bias(norm), "E"))
    return layout


def nested(prefix: str, layout: Layout) -> Layout:
    """The layout behind a prefix, d_ff as well: parts that share d_model need not share that."""
    return {
        prefix + name: tuple(prefix + axis if axis.endswith("d_ff") else axis for axis in axes)
        for name, axes in layout.items()
    }


def depth(state: State) -> int:
    """How many layers there are, whatever their numbers."""
    return len({found[1] for name in state if (found := re.match(r"layers\.(\d+)\.", name))})


def _biases(bias: bool, layout: Layout) -> Layout:
    return layout if bias else {}


def has_bias(state: State) -> bool:
    return any(name.endswith("bias") for name in state)


def checked(state: State, layout: Layout) -> dict[str, Array]:
    """Copies of the arrays of the layout, or one error about all that is wrong with `state`."""
    arrays = {name: _array(name, state[name]) for name in layout if name in state}
    problems = [f"missing {name}" for name in layout if name not in state]
    problems += [f"unknown {name}" for name in state if name not in layout]
    sizes = _sizes(arrays, layout)
    for name, array in arrays.items():
        expected = [_size(axis, sizes) for axis in layout[name]]
        if list(array.shape) != expected:
            axes = ", ".join(map(_told, layout[name], expected))
            problems.append(f"{name} has shape {array.shape}; expected ({axes})")
    if problems:
        raise ValueError("state_dict does not fit: " + ", ".join(problems))
    return arrays


def _array(name: str, values: npt.ArrayLike) -> Array:
    try:
        array = np.asarray(values).copy()
    except (TypeError, ValueError, RuntimeError) as error:  # tensors raise all of these
        raise ValueError(f"{name} cannot be read as an array: {error}") from error
    if array.dtype.kind not in "fiu":
        raise ValueError(f"{name} has dtype {array.dtype}; expected real numbers")
    return as_floating(array)


def _sizes(arrays: Mapping[str, Array], layout: Layout) -> dict[str, int]:
    """The value of each size that most arrays agree on, so that the others can be blamed."""
    votes: dict[str, Counter[int]] = {}
    for name, array in arrays.items():
        # An array with another number of axes says nothing about its sizes.
        for axis, size in zip(layout[name], array.shape, strict=False):
            if "*" not in axis and array.ndim == len(layout[name]):
                votes.setdefault(axis, Counter())[size] += 1
    return {axis: sizes.most_common(1)[0][0] for axis, sizes in votes.items()}


def _size(axis: str, sizes: Mapping[str, int]) -> int | None:
    factor, _, name = axis.rpartition("*")
    return sizes[name] * int(factor or 1) if name in sizes else None


def _told(axis: str, size: int | None) -> str:
    name = axis.rpartition(".")[-1]
    return name if size is None else f"{name}={size}"


def behind(prefix: str, named: Mapping[str, _Value]) -> dict[str, _Value]:
    return {prefix + name: value for name, value in named.items()}


def within(prefix: str, named: Mapping[str, _Value]) -> dict[str, _Value]:
    """What stands behind the prefix, named without it."""
    return {name[len(prefix) :]: value for name, value in named.items() if name.startswith(prefix)}
