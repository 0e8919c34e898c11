"""Names and shapes of the `state_dict` of PyTorch's modules, written down from PyTorch 2.13.

`test_torch_oracle.py` holds them against the modules themselves where PyTorch is installed.
"""

import numpy as np


def attention(d, bias=True, kdim=None, vdim=None):
    if kdim is None and vdim is None:
        shapes = {"in_proj_weight": (3 * d, d)}
    else:
        shapes = {
            "q_proj_weight": (d, d),
            "k_proj_weight": (d, kdim or d),
            "v_proj_weight": (d, vdim or d),
        }
    if bias:
        shapes["in_proj_bias"] = (3 * d,)
    shapes["out_proj.weight"] = (d, d)
    if bias:
        shapes["out_proj.bias"] = (d,)
    return shapes


def norm(d, bias=True):
    return {"weight": (d,), "bias": (d,)} if bias else {"weight": (d,)}


def linear(d_in, d_out, bias=True):
    return {"weight": (d_out, d_in), "bias": (d_out,)} if bias else {"weight": (d_out, d_in)}


def joined(**parts):
    return {
        f"{part}.{name}": shape for part, names in parts.items() for name, shape in names.items()
    }


def encoder_layer(d, d_ff, bias=True):
    return joined(
        self_attn=attention(d, bias),
        linear1=linear(d, d_ff, bias),
        linear2=linear(d_ff, d, bias),
        norm1=norm(d, bias),
        norm2=norm(d, bias),
    )


def decoder_layer(d, d_ff, bias=True):
    return joined(
        self_attn=attention(d, bias),
        multihead_attn=attention(d, bias),
        linear1=linear(d, d_ff, bias),
        linear2=linear(d_ff, d, bias),
        norm1=norm(d, bias),
        norm2=norm(d, bias),
        norm3=norm(d, bias),
    )


def stack(layers, final_norm=None):
    shapes = joined(layers=joined(**{str(number): layer for number, layer in enumerate(layers)}))
    return shapes | (joined(norm=final_norm) if final_norm else {})


def transformer(d, d_ff, encoder_layers, decoder_layers, bias=True):
    return joined(
        encoder=stack([encoder_layer(d, d_ff, bias)] * encoder_layers, norm(d, bias)),
        decoder=stack([decoder_layer(d, d_ff, bias)] * decoder_layers, norm(d, bias)),
    )


def drawn(rng, shapes, dtype=np.float64):
    return {name: rng.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}
