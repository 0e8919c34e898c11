import re

import numpy as np
import pytest
import torch_states

from numeric import (
    EncoderDecoderWeights,
    EncoderLayerWeights,
    FeedForwardWeights,
    GatedFeedForwardWeights,
    LayerNormWeights,
    MultiHeadWeights,
    RMSNormWeights,
    decoder_from_torch,
    decoder_layer_from_torch,
    encoder_from_torch,
    encoder_layer_from_torch,
    layer_norm_from_torch,
    leaves,
    multi_head_from_torch,
    torch_state_dict,
    transformer_from_torch,
)

D, H, D_FF = 12, 4, 7

MODULES = [
    pytest.param(lambda s: layer_norm_from_torch(s), torch_states.norm(D), id="LayerNorm"),
    pytest.param(lambda s: layer_norm_from_torch(s), torch_states.norm(D, False), id="no bias"),
    *(
        pytest.param(lambda s: multi_head_from_torch(s, H), shapes, id=f"MultiheadAttention {name}")
        for name, shapes in {
            "packed": torch_states.attention(D),
            "packed, no bias": torch_states.attention(D, False),
            "kdim and vdim": torch_states.attention(D, kdim=5, vdim=9),
            "kdim": torch_states.attention(D, False, kdim=5),
            "vdim": torch_states.attention(D, vdim=5),
        }.items()
    ),
    *(
        pytest.param(read, make(bias), id=f"{name}{'' if bias else ', no bias'}")
        for bias in (True, False)
        for name, read, make in [
            (
                "EncoderLayer",
                lambda s: encoder_layer_from_torch(s, H),
                lambda bias: torch_states.encoder_layer(D, D_FF, bias),
            ),
            (
                "DecoderLayer",
                lambda s: decoder_layer_from_torch(s, H),
                lambda bias: torch_states.decoder_layer(D, D_FF, bias),
            ),
            (
                "Encoder",
                lambda s: encoder_from_torch(s, H),
                lambda bias: torch_states.stack([torch_states.encoder_layer(D, D_FF, bias)] * 2),
            ),
            (
                "Decoder",
                lambda s: decoder_from_torch(s, H),
                lambda bias: torch_states.stack(
                    [torch_states.decoder_layer(D, D_FF, bias)] * 11, torch_states.norm(D, True)
                ),
            ),
            (
                "Transformer",
                lambda s: transformer_from_torch(s, H),
                lambda bias: torch_states.transformer(D, D_FF, 2, 3, bias),
            ),
        ]
    ),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("read", "shapes"), MODULES)
def test_in_and_out_is_exact(read, shapes, dtype, rng):
    state = torch_states.drawn(rng, shapes, dtype)
    back = torch_state_dict(read(state))
    assert list(back) == list(state)
    for name, array in back.items():
        assert array.dtype == dtype
        assert array.flags.c_contiguous
        np.testing.assert_array_equal(array, state[name], err_msg=name)


@pytest.mark.parametrize(("read", "shapes"), MODULES)
def test_weights_have_all_the_numbers_and_are_copies(read, shapes, rng):
    state = torch_states.drawn(rng, shapes)
    weights = read(state)
    assert weights.parameter_count() == sum(array.size for array in state.values())
    out = torch_state_dict(weights)
    for array in leaves(weights):
        others = (*state.values(), *out.values())
        assert not any(np.shares_memory(array, other) for other in others)


@pytest.mark.parametrize(("read", "shapes"), MODULES)
def test_every_missing_unknown_and_misshaped_name_is_named(read, shapes, rng):
    state = torch_states.drawn(rng, shapes)
    names = [name for name in shapes if not name.endswith("bias")]
    for name in names:
        fewer = {other: array for other, array in state.items() if other != name}
        with pytest.raises(ValueError, match=rf"missing (\S+, missing )*{re.escape(name)}\b"):
            read(fewer)
        with pytest.raises(ValueError, match=rf"{re.escape(name)} has shape \(.*\); expected \("):
            read(state | {name: state[name][None]})
    with pytest.raises(ValueError, match=r"unknown layers.0.gamma, unknown zeta") as error:
        read(state | {"layers.0.gamma": np.zeros(D), "zeta": np.zeros(D)})
    assert "\n" not in str(error.value)


def test_projections_of_attention_stand_where_they_belong(rng):
    state = torch_states.drawn(rng, torch_states.attention(D))
    weights, d_k = multi_head_from_torch(state, H), D // H
    rows, biases = state["in_proj_weight"], state["in_proj_bias"]
    for part, (w, b) in enumerate(
        [(weights.w_q, weights.b_q), (weights.w_k, weights.b_k), (weights.w_v, weights.b_v)]
    ):
        for i in range(H):
            for c in range(d_k):
                row = part * D + i * d_k + c
                np.testing.assert_array_equal(w[i, :, c], rows[row])
                assert b[i, c] == biases[row]
    for column in range(D):
        np.testing.assert_array_equal(weights.w_o[column], state["out_proj.weight"][:, column])
    np.testing.assert_array_equal(weights.b_o, state["out_proj.bias"])


def test_keys_and_values_of_other_widths(rng):
    state = torch_states.drawn(rng, torch_states.attention(D, kdim=5, vdim=9))
    weights = multi_head_from_torch(state, H)
    assert (weights.w_q.shape, weights.w_k.shape, weights.w_v.shape) == (
        (4, 12, 3),
        (4, 5, 3),
        (4, 9, 3),
    )
    np.testing.assert_array_equal(weights.w_k[2, :, 1], state["k_proj_weight"][2 * 3 + 1])
    np.testing.assert_array_equal(weights.w_v[3, :, 2], state["v_proj_weight"][3 * 3 + 2])


def test_parts_of_the_layers_stand_where_they_belong(rng):
    state = torch_states.drawn(rng, torch_states.decoder_layer(D, D_FF))
    layer = decoder_layer_from_torch(state, H)
    np.testing.assert_array_equal(layer.feed_forward.w_1, state["linear1.weight"].T)
    np.testing.assert_array_equal(layer.feed_forward.b_1, state["linear1.bias"])
    np.testing.assert_array_equal(layer.feed_forward.w_2, state["linear2.weight"].T)
    np.testing.assert_array_equal(layer.feed_forward.b_2, state["linear2.bias"])
    norms = [layer.self_attention_norm, layer.cross_attention_norm, layer.feed_forward_norm]
    for number, norm in enumerate(norms, start=1):
        np.testing.assert_array_equal(norm.gamma, state[f"norm{number}.weight"])
        np.testing.assert_array_equal(norm.beta, state[f"norm{number}.bias"])
    np.testing.assert_array_equal(layer.self_attention.b_o, state["self_attn.out_proj.bias"])
    np.testing.assert_array_equal(layer.cross_attention.b_o, state["multihead_attn.out_proj.bias"])


def test_encoder_and_decoder_differ_in_depth_and_inner_width(rng):
    encoder = torch_states.stack(
        [torch_states.encoder_layer(D, 5), torch_states.encoder_layer(D, 9)], torch_states.norm(D)
    )
    decoder = torch_states.stack([torch_states.decoder_layer(D, 7)], torch_states.norm(D, False))
    state = torch_states.drawn(rng, torch_states.joined(encoder=encoder, decoder=decoder))
    weights = transformer_from_torch(state, H)
    assert [layer.feed_forward.d_ff for layer in weights.encoder.layers] == [5, 9]
    assert [layer.feed_forward.d_ff for layer in weights.decoder.layers] == [7]
    assert weights.decoder.norm.beta is None
    assert list(torch_state_dict(weights)) == list(state)


def test_a_transformer_has_both_final_norms(rng):
    shapes = torch_states.transformer(D, D_FF, 1, 1, bias=False)
    for part in ("encoder", "decoder"):
        state = torch_states.drawn(rng, shapes)
        del state[f"{part}.norm.weight"]
        with pytest.raises(ValueError, match=f"missing {part}.norm.weight"):
            transformer_from_torch(state, H)
    weights = EncoderDecoderWeights.init(rng, 1, D, H, D_FF, final_norm=False)
    with pytest.raises(ValueError, match="a final norm is absent"):
        torch_state_dict(weights)


def test_all_that_is_wrong_is_told_at_once_and_the_odd_one_is_blamed(rng):
    state = torch_states.drawn(rng, torch_states.encoder_layer(D, D_FF))
    del state["norm1.bias"]
    state["norm1.beta"] = np.zeros(D)
    state["self_attn.in_proj_weight"] = np.zeros((3 * 11, 11))
    with pytest.raises(
        ValueError,
        match=r"^state_dict does not fit: missing norm1.bias, unknown norm1.beta, "
        r"self_attn.in_proj_weight has shape \(33, 11\); expected \(3\*E=36, E=12\)$",
    ):
        encoder_layer_from_torch(state, H)


@pytest.mark.parametrize("layers", [["0", "2"], ["1"], ["0", "99999999999"]])
def test_layers_are_numbered_without_gaps(layers, rng):
    one = torch_states.encoder_layer(D, D_FF)
    shapes = torch_states.joined(layers=torch_states.joined(**dict.fromkeys(layers, one)))
    with pytest.raises(ValueError, match=rf"unknown layers\.{layers[-1]}\.linear1\.weight"):
        encoder_from_torch(torch_states.drawn(rng, shapes), H)


def test_no_layers(rng):
    with pytest.raises(ValueError, match=r"missing layers\.0\.self_attn\.in_proj_weight"):
        encoder_from_torch({}, H)


def test_learned_keys_and_values_are_refused_by_name(rng):
    """`add_bias_kv=True` appends one key and one value to every sequence."""
    state = torch_states.drawn(rng, torch_states.attention(D))
    extra = {"bias_k": np.zeros((1, 1, D)), "bias_v": np.zeros((1, 1, D))}
    with pytest.raises(ValueError, match="unknown bias_k, unknown bias_v"):
        multi_head_from_torch(state | extra, H)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros(D, dtype=complex), "weight has dtype complex128; expected real numbers"),
        (np.array([None] * D), "weight has dtype object; expected real numbers"),
        (["a"] * D, r"weight has dtype <U1; expected real numbers"),
        ([[1.0], [1.0, 2.0]], "weight cannot be read as an array: "),
    ],
)
def test_what_is_no_array_of_numbers(value, message):
    with pytest.raises(ValueError, match=message):
        layer_norm_from_torch({"weight": value})


class Brain16:
    """A tensor of a dtype that NumPy does not have."""

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Got unsupported ScalarType BFloat16")


def test_a_tensor_that_numpy_cannot_read():
    message = "weight cannot be read as an array: Got unsupported ScalarType BFloat16"
    with pytest.raises(ValueError, match=message):
        layer_norm_from_torch({"weight": Brain16()})


def test_heads_that_do_not_divide_the_width(rng):
    with pytest.raises(ValueError, match="d_model=12 is not divisible by h=5"):
        multi_head_from_torch(torch_states.drawn(rng, torch_states.attention(D)), 5)


def test_half_precision_comes_back_in_single(rng):
    state = torch_states.drawn(rng, torch_states.norm(D), np.float16)
    back = torch_state_dict(layer_norm_from_torch(state))
    assert back["weight"].dtype == np.float32
    np.testing.assert_array_equal(back["weight"], state["weight"])


def test_weights_that_no_module_holds(rng):
    with pytest.raises(ValueError, match=r"d_k=5; nn.MultiheadAttention needs d_model / h = 3"):
        torch_state_dict(MultiHeadWeights.init(rng, 12, 4, 5, 3))
    with pytest.raises(ValueError, match=r"d_v=2; nn.MultiheadAttention needs d_model / h = 3"):
        torch_state_dict(MultiHeadWeights.init(rng, 12, 4, 3, 2))
    with pytest.raises(ValueError, match=r"g=2; nn.MultiheadAttention needs as many as h=4"):
        torch_state_dict(MultiHeadWeights.init(rng, 12, 4, g=2))
    full = MultiHeadWeights.init(rng, 12, 4, bias=True)
    partly = MultiHeadWeights(full.w_q, full.w_k, full.w_v, full.w_o, b_o=full.b_o)
    with pytest.raises(ValueError, match=r"nn.MultiheadAttention has all of them or none"):
        torch_state_dict(partly)
    norms = [LayerNormWeights.init(12), LayerNormWeights.init(12)]
    mixed = EncoderLayerWeights(full, FeedForwardWeights.init(rng, 12, 7, bias=False), *norms)
    with pytest.raises(ValueError, match=r"a layer of torch.nn has all of them or none"):
        torch_state_dict(mixed)
    gated = EncoderLayerWeights(full, GatedFeedForwardWeights.init(rng, 12, 7), *norms)
    with pytest.raises(TypeError, match="GatedFeedForwardWeights has no counterpart"):
        torch_state_dict(gated)
    with pytest.raises(TypeError, match="RMSNormWeights"):
        torch_state_dict(RMSNormWeights.init(12))
    with pytest.raises(TypeError, match="FeedForwardWeights"):
        torch_state_dict(FeedForwardWeights.init(rng, 12, 7))
