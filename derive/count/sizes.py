"""The symbols for the sizes of a model, as the kernel's terms; each is an integer, at least 1."""

from __future__ import annotations

from typing import Final

from derive.kernel import terms as T
from derive.kernel.terms import Term


def _size(name: str) -> Term:
    return T.var(name, "dim")


n: Final = _size("n")
m: Final = _size("m")
layers: Final = _size("L")
encoder_layers: Final = _size("L_enc")
decoder_layers: Final = _size("L_dec")
d_model: Final = _size("d_model")
d_ff: Final = _size("d_ff")
d_k: Final = _size("d_k")
d_v: Final = _size("d_v")
heads: Final = _size("h")
kv_heads: Final = _size("h_kv")
vocabulary: Final = _size("V")
context: Final = _size("n_ctx")
segments: Final = _size("n_seg")
buckets: Final = _size("b")
d_embed: Final = _size("d_emb")
experts: Final = _size("E")
active_experts: Final = _size("k")
channels: Final = _size("c")
patch: Final = _size("p")
patches: Final = _size("N_p")
classes: Final = _size("C")

#: What each symbol stands for, in the order in which symbols stand in a product.
MEANINGS: Final = {
    n: "tokens in the sequence",
    m: "tokens of the source sequence",
    layers: "layers",
    encoder_layers: "layers of the encoder",
    decoder_layers: "layers of the decoder",
    experts: "experts of a layer",
    active_experts: "experts that a token is sent to",
    vocabulary: "entries of the vocabulary",
    context: "positions in the table",
    segments: "kinds of segments",
    buckets: "buckets of relative positions",
    patches: "patches of an image",
    channels: "channels of an image",
    patch: "side of a patch",
    classes: "classes",
    heads: "heads",
    kv_heads: "heads of keys and values",
    d_model: "width of the model",
    d_embed: "width of the embedding",
    d_k: "width of a query and of a key",
    d_v: "width of a value",
    d_ff: "width of the feed-forward network",
}
