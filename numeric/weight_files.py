"""Named arrays in `.safetensors` files. Needs the package safetensors, the extra `weights`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array

_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1",
}  # fmt: skip


def load_safetensors(path: str | os.PathLike[str]) -> dict[str, Array]:
    """Names and arrays of the file, to be read by one of the `..._from_torch`.

    bfloat16, which NumPy lacks, becomes float32 without loss. Raises ValueError for what is no
    such file or holds numbers of another kind, OSError where it cannot be read, and
    ModuleNotFoundError without the package.
    """
    safetensors = _package()
    content = Path(path).read_bytes()
    try:
        entries = safetensors.deserialize(content)
    except safetensors.SafetensorError as error:
        raise ValueError(f"{path} is no safetensors file: {error}") from error
    return {name: _array(path, name, entry) for name, entry in sorted(entries)}


def save_safetensors(state: Mapping[str, npt.ArrayLike], path: str | os.PathLike[str]) -> None:
    """Write the names and arrays, for instance those of `torch_state_dict`, to the file.

    Raises ValueError for numbers that `load_safetensors` does not read.
    """
    safetensors = _package()
    # The package writes the memory as it lies, in whatever order.
    arrays = {name: np.asarray(array, order="C") for name, array in state.items()}
    readable = {np.dtype(kind) for kind in _DTYPES.values()}
    for name, array in arrays.items():
        if array.dtype.newbyteorder("<") not in readable:
            raise ValueError(
                f"{name} has dtype {array.dtype}; expected real numbers of 8 to 64 bits"
            )
    safetensors.numpy.save_file(arrays, path)


def _array(path: str | os.PathLike[str], name: str, entry: Mapping[str, Any]) -> Array:
    kind = entry["dtype"]
    if kind not in _DTYPES:
        raise ValueError(f"{path}: {name} holds {kind}; expected real numbers of 16 bits or more")
    numbers = np.frombuffer(entry["data"], dtype=_DTYPES[kind]).reshape(entry["shape"])
    if kind == "BF16":
        # The upper half of a float32, and nothing else.
        return (numbers.astype(np.uint32) << 16).view(np.float32)
    return numbers.astype(numbers.dtype.newbyteorder("="))


def _package() -> Any:
    try:
        import safetensors.numpy
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "the package safetensors is missing: pip install 'derive-transformer[weights]'"
        ) from error
    return safetensors
