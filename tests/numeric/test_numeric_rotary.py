"""Rotary position encoding in both layouts."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numeric import (
    central_difference_error,
    complex_step_error,
    frequencies,
    position_encoding,
    rotary_encoding,
    rotary_encoding_vjp,
    scaled_scores,
)

LAYOUTS = ["interleaved", "halves"]
ONCE = settings(derandomize=True, deadline=None, max_examples=25)


def turned_as_complex_numbers(x, position, base, layout):
    """One row; the pairs are complex numbers, and turning is a product with exp(i angle)."""
    d = len(x)
    real, imaginary = (x[0::2], x[1::2]) if layout == "interleaved" else (x[: d // 2], x[d // 2 :])
    pairs = [
        complex(a, b) * np.exp(1j * position / base ** (2 * i / d))
        for i, (a, b) in enumerate(zip(real, imaginary, strict=True))
    ]
    if layout == "halves":
        return np.array([pair.real for pair in pairs] + [pair.imag for pair in pairs])
    return np.array([part for pair in pairs for part in (pair.real, pair.imag)])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("base", [10_000.0, 500.0])
def test_pairs_are_complex_numbers(base, layout, rng):
    x, positions = rng.standard_normal((2, 4, 6)), np.array([0.0, 1.0, 17.0, -2.5])
    output = rotary_encoding(x, positions, base=base, layout=layout)
    for batch in range(2):
        for t in range(4):
            expected = turned_as_complex_numbers(x[batch, t], positions[t], base, layout)
            np.testing.assert_allclose(output[batch, t], expected, atol=1e-13)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 6), (1, 2), (2, 5, 3, 4)])
def test_vjp(shape, layout, rng):
    positions = 7 + np.arange(shape[-2])
    functions = (
        lambda x: rotary_encoding(x, positions, layout=layout),
        lambda x, g: rotary_encoding_vjp(x, positions, g, layout=layout),
    )
    arguments = (rng.standard_normal(shape),)
    assert complex_step_error(*functions, arguments, rng) < 1e-14
    assert central_difference_error(*functions, arguments, rng) < 1e-8


def test_the_layouts_differ_by_a_permutation_of_the_columns(rng):
    x, positions = rng.standard_normal((4, 6)), np.arange(4)
    order = [0, 2, 4, 1, 3, 5]  # the first columns of the pairs, then the second ones
    halves = rotary_encoding(x[:, order], positions, layout="halves")
    interleaved = rotary_encoding(x, positions)
    np.testing.assert_array_equal(halves, interleaved[:, order])
    assert np.abs(rotary_encoding(x, positions, layout="halves") - interleaved).max() > 1e-2


@ONCE
@given(st.integers(-50, 50), st.sampled_from(LAYOUTS), st.integers(0, 999))
def test_scores_depend_on_the_difference_of_positions_only(shift, layout, seed):
    rng = np.random.default_rng(seed)
    queries, keys = rng.standard_normal((2, 5, 6))
    turn = partial(rotary_encoding, layout=layout)
    positions = np.arange(5)
    scores = scaled_scores(turn(queries, positions), turn(keys, positions))
    shifted = scaled_scores(turn(queries, positions + shift), turn(keys, positions + shift))
    np.testing.assert_allclose(shifted, scores, atol=1e-12)
    one_sided = scaled_scores(turn(queries, positions + shift), turn(keys, positions))
    assert shift == 0 or np.abs(one_sided - scores).max() > 1e-3


@pytest.mark.parametrize("layout", LAYOUTS)
def test_lengths_are_kept_and_position_0_changes_nothing(layout, rng):
    x = rng.standard_normal((5, 6))
    turned = rotary_encoding(x, np.arange(5), layout=layout)
    lengths = [np.linalg.norm(rows, axis=1) for rows in (x, turned)]
    np.testing.assert_allclose(*lengths, rtol=1e-14)
    np.testing.assert_array_equal(turned[0], x[0])
    back = rotary_encoding(turned, -np.arange(5), layout=layout)
    np.testing.assert_allclose(back, x, atol=1e-14)


def test_a_pair_in_the_first_direction_is_the_sinusoidal_encoding():
    x = np.tile([1.0, 0.0], (5, 3))  # cos + i sin of every angle
    encoding = position_encoding(np.arange(5), 6)
    turned = rotary_encoding(x, np.arange(5))
    np.testing.assert_allclose(turned[:, 0::2], encoding[:, 1::2], atol=1e-15)
    np.testing.assert_allclose(turned[:, 1::2], encoding[:, 0::2], atol=1e-15)


def test_a_sequence_in_pieces(rng):
    """Tokens that continue a sequence need its length as an offset."""
    x = rng.standard_normal((7, 4))
    whole = rotary_encoding(x, np.arange(7))
    np.testing.assert_array_equal(rotary_encoding(x[5:], 5 + np.arange(2)), whole[5:])


def test_every_sequence_of_a_batch_begins_elsewhere(rng):
    x, offsets = rng.standard_normal((2, 3, 4, 6)), np.array([0, 10])
    positions = offsets[:, None, None] + np.arange(4)
    output = rotary_encoding(x, positions)
    cotangent = rng.standard_normal(x.shape)
    gradient = rotary_encoding_vjp(x, positions, cotangent)
    for i in range(2):
        alone = offsets[i] + np.arange(4)
        np.testing.assert_array_equal(output[i], rotary_encoding(x[i], alone))
        expected = rotary_encoding_vjp(x[i], alone, cotangent[i])
        np.testing.assert_array_equal(gradient[i], expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_angles_are_not_rounded_with_the_vectors(dtype, rng):
    x, positions = rng.standard_normal((3, 4)).astype(dtype), np.array([2000, 65_001, 1_000_003])
    output = rotary_encoding(x, positions)
    assert output.dtype == rotary_encoding_vjp(x, positions, x).dtype == np.float32
    np.testing.assert_allclose(output, rotary_encoding(x.astype(float), positions), atol=1e-6)


def test_frequencies_are_those_of_the_sinusoidal_encoding():
    turned = rotary_encoding(np.tile([1.0, 0.0], (1, 4)), [1e-3])
    np.testing.assert_allclose(turned[0, 1::2], np.sin(1e-3 * frequencies(8)), rtol=1e-13)


@pytest.mark.parametrize(
    ("x", "positions", "options", "message"),
    [
        ((3, 5), (3,), {}, r"x has shape \(3, 5\); expected \(\.\.\., n, d\) with d even"),
        ((4,), (4,), {}, r"x has shape \(4,\); expected \(\.\.\., n, d\)"),
        ((2, 3, 4), (2,), {}, r"positions has shape \(2,\); expected \(3,\) or \(2, 3\)"),
        ((2, 3, 4), (3, 3), {}, r"positions has shape \(3, 3\); expected \(3,\) or \(2, 3\)"),
        ((2, 2, 3, 4), (2, 3), {}, r"positions has shape \(2, 3\); expected \(3,\) or \(2, 2, 3\)"),
        ((2, 3, 4), (1,), {}, r"positions has shape \(1,\); expected \(3,\)"),
        ((2, 3, 4), (), {}, r"positions has shape \(\); expected \(3,\)"),
        (
            (3, 4),
            (3,),
            {"layout": "pairs"},
            "layout is 'pairs'; expected 'interleaved' or 'halves'",
        ),
        ((3, 4), (3,), {"base": 0.0}, "base is 0.0; expected a positive number"),
    ],
)
def test_what_does_not_fit(x, positions, options, message):
    x, positions = np.zeros(x), np.zeros(positions)
    with pytest.raises(ValueError, match=message):
        rotary_encoding(x, positions, **options)
    with pytest.raises(ValueError, match=message):
        rotary_encoding_vjp(x, positions, x, **options)


@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_positions_that_are_no_numbers(entry):
    message = "positions holds nan or inf; expected finite"
    with pytest.raises(ValueError, match=message):
        rotary_encoding(np.zeros((2, 4)), [0, entry])
    with pytest.raises(ValueError, match=message):
        position_encoding([0, entry], 4)


def test_cotangent_of_another_shape():
    with pytest.raises(ValueError, match=r"cotangent has shape \(3, 2\); expected \(3, 4\)"):
        rotary_encoding_vjp(np.zeros((3, 4)), np.arange(3), np.zeros((3, 2)))
