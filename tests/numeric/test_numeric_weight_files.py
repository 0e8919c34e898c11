import json
import struct
import sys

import numpy as np
import pytest
import torch_states

from numeric import (
    encoder_layer_from_torch,
    load_safetensors,
    save_safetensors,
    torch_state_dict,
    transformer_from_torch,
)

safetensors_numpy = pytest.importorskip(
    "safetensors.numpy", reason="the package safetensors is missing (extra `weights`)"
)


def written(path, **arrays):
    """A file put together by hand from the description of the format: the length of a JSON
    header, the header, the bytes of the arrays."""
    header, data = {}, b""
    for name, (dtype, shape, content) in arrays.items():
        offsets = [len(data), len(data) + len(content)]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
        data += content
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def test_weights_of_a_transformer_from_a_file_and_back(tmp_path, rng):
    state = torch_states.drawn(rng, torch_states.transformer(12, 7, 2, 1))
    safetensors_numpy.save_file(state, tmp_path / "model.safetensors")
    weights = transformer_from_torch(load_safetensors(tmp_path / "model.safetensors"), h=4)
    save_safetensors(torch_state_dict(weights), tmp_path / "again.safetensors")
    again = safetensors_numpy.load_file(tmp_path / "again.safetensors")
    assert set(again) == set(state)
    for name, array in again.items():
        assert array.dtype == np.float64
        np.testing.assert_array_equal(array, state[name])


def test_single_precision_and_a_string_for_the_path(tmp_path, rng):
    path = str(tmp_path / "layer.safetensors")
    state = torch_states.drawn(rng, torch_states.encoder_layer(12, 7), np.float32)
    save_safetensors(state, path)
    weights = encoder_layer_from_torch(load_safetensors(path), h=4)
    assert weights.attention.w_q.dtype == np.float32


def test_arrays_that_do_not_lie_in_order(tmp_path):
    table = np.arange(12.0).reshape(3, 4)
    save_safetensors({"turned": table.T, "every": table[::2]}, tmp_path / "a.safetensors")
    loaded = load_safetensors(tmp_path / "a.safetensors")
    np.testing.assert_array_equal(loaded["turned"], table.T)
    np.testing.assert_array_equal(loaded["every"], table[::2])


def test_a_file_byte_by_byte(tmp_path):
    content = struct.pack("<4d", 1.0, -2.5, 0.0, 1e300)
    path = written(tmp_path / "a.safetensors", weight=("F64", [2, 2], content))
    loaded = load_safetensors(path)
    np.testing.assert_array_equal(loaded["weight"], [[1.0, -2.5], [0.0, 1e300]])
    assert loaded["weight"].flags.writeable


def test_bfloat16_becomes_float32(tmp_path):
    """1, -2, the largest number below infinity, infinity: upper halves of float32."""
    halves = struct.pack("<4H", 0x3F80, 0xC000, 0x7F7F, 0x7F80)
    path = written(tmp_path / "a.safetensors", weight=("BF16", [4], halves))
    loaded = load_safetensors(path)["weight"]
    assert loaded.dtype == np.float32
    np.testing.assert_array_equal(loaded, [1, -2, (2 - 2**-7) * 2.0**127, np.inf])


@pytest.mark.parametrize("content", [b"", b"not a file of tensors at all", b"\xff" * 16])
def test_what_is_no_such_file(content, tmp_path):
    path = tmp_path / "broken.safetensors"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"broken\.safetensors is no safetensors file: "):
        load_safetensors(path)


def test_a_file_that_ends_too_early(tmp_path):
    path = tmp_path / "short.safetensors"
    save_safetensors({"weight": np.ones(5)}, path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"short\.safetensors is no safetensors file: "):
        load_safetensors(path)


def test_numbers_of_another_kind(tmp_path):
    path = written(tmp_path / "a.safetensors", weight=("F8_E4M3", [2], b"ab"))
    with pytest.raises(ValueError, match="weight holds F8_E4M3; expected real numbers"):
        load_safetensors(path)


@pytest.mark.parametrize("array", [3.0, np.array([1.5, 2], ">f8"), np.zeros((0, 3)), [1, 2]])
def test_what_is_written_is_read_again(array, tmp_path):
    """The shape of a number, too: the count of batches of `nn.BatchNorm1d` is one."""
    path = tmp_path / "a.safetensors"
    save_safetensors({"a": array}, path)
    loaded = load_safetensors(path)["a"]
    assert loaded.shape == np.shape(array)
    np.testing.assert_array_equal(loaded, array)


@pytest.mark.parametrize("dtype", [complex, bool, "U1"])
def test_what_could_not_be_read_is_not_written(dtype, tmp_path):
    with pytest.raises(ValueError, match=r"bias has dtype .*; expected real numbers"):
        save_safetensors({"bias": np.zeros(2, dtype)}, tmp_path / "a.safetensors")
    assert not list(tmp_path.iterdir())


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_safetensors(tmp_path / "missing.safetensors")


def test_without_the_package_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'derive-transformer\[weights\]'"):
        load_safetensors(tmp_path / "a.safetensors")
