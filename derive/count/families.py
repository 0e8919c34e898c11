"""The families: which tensors and steps each architecture has, for symbolic sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from derive.count.blocks import (
    Biases,
    Heads,
    attention,
    dots,
    equal_heads,
    every,
    fan_out,
    feed_forward,
    free_heads,
    gated_feed_forward,
    head,
    kept,
    layer_norm,
    linear,
    look_up,
    mixture,
    product,
    residual,
    rms_norm,
    step,
    weights,
)
from derive.count.description import Architecture, Part, Stage
from derive.count.sizes import (
    active_experts,
    buckets,
    channels,
    classes,
    context,
    d_embed,
    d_k,
    d_model,
    d_v,
    decoder_layers,
    encoder_layers,
    experts,
    heads,
    kv_heads,
    layers,
    m,
    n,
    patch,
    patches,
    segments,
    vocabulary,
)
from derive.kernel import terms as T
from derive.kernel.terms import Term

Norm = Callable[[str, Term], Part]
EMBEDDING, POSITIONS = "token embedding", "positions"
BIASED, FREE = Biases(qkv=True, output=True), Biases()


def _embedding(rows: Term, width: Term = d_model) -> Part:
    return look_up("token embedding", EMBEDDING, vocabulary, rows, width)


def _learned_positions(rows: Term, table: Term = context) -> Part:
    return look_up("position embedding", POSITIONS, table, rows) + _added(POSITIONS, rows)


def _added(component: str, rows: Term) -> Part:
    """Another embedding is added; its gradient is that of the sum."""
    return step("sum of embeddings", component, every(rows, d_model, add=1))


def _tying(tied: bool) -> str:
    how = "the token embedding, counted once (tied)" if tied else "a matrix of its own"
    return f"output head: {how}; no bias"


# ---------------------------------------------------------------------------- GPT, OPT


@dataclass(frozen=True)
class GptOptions:
    """How decoders of the GPT kind differ."""

    family: str = "gpt-2"
    title: str = "GPT-2 and GPT-3"
    positions: Term | None = context
    norm_first: bool = True
    final_norm: bool = True
    norm_parameters: bool = True
    bias: bool = True
    tied: bool = True
    free_widths: bool = False
    projected: bool = False


def gpt(options: GptOptions = GptOptions()) -> Architecture:
    """A stack of decoder layers with learned positions, LayerNorm and a network of two maps."""
    o = options
    by = free_heads(heads, heads, d_k, d_k) if o.free_widths else equal_heads(heads, d_model)
    biases = BIASED if o.bias else FREE
    parts = _embedding(n, d_embed if o.projected else d_model)
    if o.projected:
        parts += linear("into the model", "embedding projections", n, d_embed, d_model, bias=False)
        parts += kept("narrow tokens", "embedding projections", n, d_embed)
    parts += Part() if o.positions is None else _learned_positions(n, o.positions)
    norms = [
        layer_norm(f"norm {k}", n, gain=o.norm_parameters, bias=o.norm_parameters) for k in (1, 2)
    ]
    inner = [attention(by, n, n, biases, cache=True), feed_forward(n, bias=o.bias)]
    parts += _layer(norms, inner, o.norm_first).repeated(layers)
    if not o.norm_first:
        parts += kept("embedded tokens", EMBEDDING, n, d_model)
    if o.final_norm:
        parts += layer_norm("final norm", n, gain=o.norm_parameters, bias=o.norm_parameters)
    if o.projected:
        parts += linear(
            "out of the model", "embedding projections", n, d_model, d_embed, bias=False
        )
        parts += kept("narrow output", "embedding projections", n, d_embed)
    parts += head(n, d_embed if o.projected else d_model, vocabulary, tied=o.tied)
    return Architecture(o.family, o.title, parts, _gpt_conventions(o), n)


def _gpt_conventions(o: GptOptions) -> tuple[str, ...]:
    where = "before" if o.norm_first else "after"
    norms = "gain and bias" if o.norm_parameters else "without parameters"
    widths = "h heads of the given width d_k" if o.free_widths else "h heads that share d_model"
    return (
        f"biases: {'in every linear map' if o.bias else 'none'}",
        f"attention: {widths}",
        f"LayerNorm ({norms}): two in a layer, {where} attention and network",
        f"final norm: {'yes' if o.final_norm else 'none'}",
        "positions: none" if o.positions is None else "positions: a learned table",
        *(("embedding: narrower than the model, with a projection in and out",)
          if o.projected else ()),
        _tying(o.tied),
    )  # fmt: skip


def _layer(norms: list[Part], inner: list[Part], norm_first: bool, rows: Term = n) -> Part:
    """Sublayers, each with its norm before it or after the sum, and a residual sum."""
    out = Part()
    for norm, part in zip(norms, inner, strict=True):
        component = part.stages[0].component
        out += norm + part + residual(component, rows) if norm_first else (
            part + residual(component, rows) + norm
        )  # fmt: skip
    return out


# ---------------------------------------------------------------------------- BERT


def bert(*, pooler: bool = True) -> Architecture:
    """An encoder with three embeddings, norms after the sums, and a pooler on the first token."""
    parts = _embedding(n) + _learned_positions(n)
    parts += look_up("segment embedding", "segments", segments, n) + _added("segments", n)
    parts += layer_norm("embedding norm", n, read=False)
    norms = [layer_norm("norm 1", n), layer_norm("norm 2", n, read=False)]
    inner = [attention(equal_heads(heads, d_model), n, n, BIASED), feed_forward(n, bias=True)]
    layer = kept("input of the layer", "attention", n, d_model)
    layer += _layer(norms, inner, norm_first=False)
    parts += layer.repeated(layers)
    if pooler:
        parts += _pooler()
    conventions = (
        "biases: in every linear map",
        "LayerNorm (gain and bias): two in a layer, after attention and network, and one after "
        "the embeddings",
        "final norm: none",
        "positions: a learned table; segments: a learned table",
        f"pooler: {'a linear map of the first token' if pooler else 'none'}",
        "head for a task: not counted",
    )
    return Architecture("bert", "BERT", parts, conventions, n)


def _pooler() -> Part:
    """A linear map and an activation of the first token."""
    part = linear("pooler", "pooler", T.ONE, d_model, d_model, bias=True)
    part += step("activation", "pooler", every(d_model, activation=1),
                 every(d_model, activation=1, multiply=1))  # fmt: skip
    part += kept("token before the pooler", "pooler", d_model)
    return part + kept("pooled token", "pooler", d_model)


# ---------------------------------------------------------------------------- LLaMA and kin


@dataclass(frozen=True)
class LlamaOptions:
    """How decoders of the LLaMA kind differ."""

    family: str = "llama"
    title: str = "LLaMA and Mistral"
    biases: Biases = FREE
    network_bias: bool = False
    tied: bool = False
    mixture: bool = False


def llama(options: LlamaOptions = LlamaOptions()) -> Architecture:
    """RMSNorm before attention with shared keys and values, and before a gated network."""
    o = options
    by = free_heads(heads, kv_heads, d_k, d_k)
    network = (
        mixture(n, experts, active_experts)
        if o.mixture
        else gated_feed_forward(n, bias=o.network_bias)
    )
    inner = [attention(by, n, n, o.biases, rotary=True, cache=True), network]
    norms = [rms_norm(f"norm {k}", n) for k in (1, 2)]
    parts = _embedding(n) + _layer(norms, inner, norm_first=True).repeated(layers)
    parts += rms_norm("final norm", n) + head(n, d_model, vocabulary, tied=o.tied)
    which = {
        FREE: "none", BIASED: "in every projection of attention",
        Biases(qkv=True): "of queries, keys and values",
    }[o.biases]  # fmt: skip
    conventions = (
        f"biases: {which}{' and in the network' if o.network_bias else ''}",
        "attention: h heads of queries share h_kv heads of keys and values",
        "RMSNorm (gain only): two in a layer, before attention and network",
        "final norm: yes",
        "positions: rotary, without parameters",
        *(("feed-forward: E gated networks and a router; a token is sent to k of them; all are "
           "in the total; in the backward pass every expert has at least one token",)
          if o.mixture else
          ("feed-forward: gated, three matrices",)),
        _tying(o.tied),
    )  # fmt: skip
    return Architecture(o.family, o.title, parts, conventions, n)


# ---------------------------------------------------------------------------- PaLM


def palm(*, norm_parameters: bool = False) -> Architecture:
    """Attention and a gated network side by side; all heads share one of keys and values."""
    by = Heads(heads, T.ONE, d_k, d_k, T.mul(heads, d_k), d_k, d_k, T.mul(heads, d_k))
    block = layer_norm("norm", n, gain=norm_parameters, bias=False)
    block += attention(by, n, n, FREE, rotary=True, cache=True) + gated_feed_forward(n)
    block += fan_out("feed-forward", 2, n) + residual("attention", n)
    block += step("residual sum", "feed-forward", every(n, d_model, add=1))
    parts = _embedding(n) + block.repeated(layers)
    parts += layer_norm("final norm", n, gain=norm_parameters, bias=False)
    parts += head(n, d_model, vocabulary, tied=True)
    conventions = (
        "biases: none",
        "attention and network side by side; one head of keys and values for all queries",
        f"norms: gains {'counted' if norm_parameters else 'not counted'}",
        "final norm: yes",
        "positions: rotary, without parameters",
        "feed-forward: gated, three matrices",
        _tying(True),
    )
    return Architecture("palm", "PaLM", parts, conventions, n)


# ---------------------------------------------------------------------------- Gopher, Chinchilla


def gopher(*, norm_parameters: bool = False, relative: bool = True) -> Architecture:
    """Relative positions with a matrix of their own in every layer."""
    by = free_heads(heads, heads, d_k, d_k)
    part = attention(by, n, n, FREE, cache=True)
    if relative:
        part += _relative_scores(by)
    norms = [rms_norm(f"norm {k}", n, gain=norm_parameters) for k in (1, 2)]
    inner = [part, feed_forward(n, bias=False)]
    parts = _embedding(n) + _layer(norms, inner, norm_first=True).repeated(layers)
    parts += rms_norm("final norm", n, gain=norm_parameters)
    parts += head(n, d_model, vocabulary, tied=True)
    conventions = (
        "biases: none counted",
        f"RMSNorm: gains {'counted' if norm_parameters else 'not counted'}",
        "final norm: yes",
        "positions: relative, with a d_model x h d_k matrix in every layer"
        if relative
        else "positions: relative, their matrices not counted",
        _tying(True),
    )
    return Architecture("gopher", "Gopher and Chinchilla", parts, conventions, n)


def _relative_scores(by: Heads) -> Part:
    """The n distances are encoded and projected, and every query meets the one of each key."""
    square = (by.heads, n, n)
    part = weights("relative positions weight", "attention", d_model, by.q_width)
    part += product("relative positions", "attention", n, d_model, by.q_width, first=True)
    part += Part(stages=(
        Stage("relative scores", "attention", (dots(square, by.d_k),),
              (dots((n, by.q_width), n), dots((n, by.q_width), n))),
    ))  # fmt: skip
    part += step("sum of scores", "attention", every(*square, add=1))
    part += kept("keys of relative positions", "attention", n, by.q_width)
    return part + fan_out("attention", 2, n, by.q_width)


# ---------------------------------------------------------------------------- T5


def t5(*, gated: bool = False, tied: bool = True, scaled: bool | None = None) -> Architecture:
    """Encoder and decoder with RMSNorm, and a table of biases for relative positions in each.

    `scaled` says that the decoder's output is scaled before the head, as it is where that is tied.
    """
    by = free_heads(heads, heads, d_k, d_k)

    def network(rows: Term) -> Part:
        return gated_feed_forward(rows) if gated else feed_forward(rows, bias=False)

    encoder = _stack(
        m, [attention(by, m, m, FREE, scaled=False, shift=True), network(m)], "encoder"
    ).repeated(encoder_layers)
    cross = attention(by, n, m, FREE, component="cross-attention", scaled=False, cache=True)
    own = attention(by, n, n, FREE, scaled=False, shift=True, cache=True)
    decoder = _stack(n, [own, cross, network(n)], "decoder").repeated(decoder_layers)
    parts = _embedding(m).named("source") + _lookup_again(n)
    parts += encoder + _relative_table("encoder") + rms_norm("encoder final norm", m)
    parts += decoder + _relative_table("decoder") + rms_norm("decoder final norm", n)
    parts += _memory_gradients(m, decoder_layers)
    if tied if scaled is None else scaled:
        parts += step("scaling", "output head", every(n, d_model, multiply=1),
                      every(n, d_model, multiply=1))  # fmt: skip
    parts += head(n, d_model, vocabulary, tied=tied)
    conventions = (
        "biases: none",
        "RMSNorm (gain only): two in an encoder layer, three in a decoder layer, before each part",
        "final norm: one for the encoder, one for the decoder",
        "positions: one table of b buckets x h heads in each stack, used by all of its layers",
        f"feed-forward: {'gated, three matrices' if gated else 'two matrices'}",
        "embedding: one matrix for encoder and decoder",
        _tying(tied),
    )
    family = "t5-gated" if gated else "t5"
    return Architecture(family, "T5 v1.1" if gated else "T5", parts, conventions, n)


def _stack(rows: Term, inner: list[Part], name: str, norm: Norm = rms_norm, norm_first: bool = True
           ) -> Part:  # fmt: skip
    norms = [norm(f"norm {k + 1}", rows) for k in range(len(inner))]
    return _layer(norms, inner, norm_first, rows).named(name)


def _lookup_again(rows: Term) -> Part:
    """Other tokens are looked up in the table that is there already."""
    table = look_up("target token embedding", EMBEDDING, vocabulary, rows)
    return Part(stages=table.stages)


def _relative_table(stack: str) -> Part:
    return weights(f"{stack} relative positions", POSITIONS, buckets, heads)


def _memory_gradients(rows: Term, depth: Term) -> Part:
    """The encoder's output is read by the keys and values of every decoder layer."""
    uses = T.sub(T.mul(T.num(2), depth), T.ONE)
    gradients = every(rows, d_model, add=uses)
    return Part(stages=(Stage("sum of gradients", "cross-attention", (), (gradients,)),))


# ---------------------------------------------------------------------------- the original


@dataclass(frozen=True)
class OriginalOptions:
    """What implementations of the original Transformer do differently."""

    attention_bias: bool = False
    final_norms: bool = False
    shared: int = 3


def original(options: OriginalOptions = OriginalOptions()) -> Architecture:
    """Encoder and decoder with LayerNorm after the sums and sinusoidal positions."""
    o = options
    by = free_heads(heads, heads, d_k, d_v)
    biases = BIASED if o.attention_bias else FREE
    own = attention(by, m, m, biases)
    encoder = _stack(m, [own, feed_forward(m, bias=True)], "encoder", layer_norm, False)
    masked = attention(by, n, n, biases, cache=True)
    cross = attention(by, n, m, biases, component="cross-attention", cache=True)
    inner = [masked, cross, feed_forward(n, bias=True)]
    decoder = _stack(n, inner, "decoder", layer_norm, False)
    parts = _original_embeddings(o.shared)
    parts += encoder.repeated(encoder_layers) + decoder.repeated(decoder_layers)
    if o.final_norms:
        parts += layer_norm("encoder final norm", m) + layer_norm("decoder final norm", n)
    parts += _memory_gradients(m, decoder_layers)
    parts += head(n, d_model, vocabulary, tied=o.shared > 1)
    matrices = {3: "one matrix for source, target and output head (tied)",
                2: "one matrix for the source, one for target and output head (tied)",
                1: "three matrices, for source, target and output head"}[o.shared]  # fmt: skip
    conventions = (
        f"biases: in the network{' and in every projection of attention' * o.attention_bias}",
        "LayerNorm (gain and bias): two in an encoder layer, three in a decoder layer, after "
        "each part",
        f"final norm: {'one for the encoder, one for the decoder' if o.final_norms else 'none'}",
        "positions: sinusoids, without parameters",
        f"embedding: {matrices}; output head without bias",
    )
    return Architecture("transformer", "the original Transformer", parts, conventions, n)


def _original_embeddings(shared: int) -> Part:
    """Rows of the table, times the root of the width, plus the sinusoids."""
    out = _embedding(m).named("source")
    out += _lookup_again(n) if shared == 3 else _embedding(n).named("target")
    for rows in (m, n):
        scaled = every(rows, d_model, multiply=1)
        out += step("scaling", EMBEDDING, scaled, scaled) + _added(POSITIONS, rows)
        out += kept("embedded tokens", EMBEDDING, rows, d_model)
    return out


# ---------------------------------------------------------------------------- ViT

tokens = T.add(patches, T.ONE)


def vit(*, pooler: bool = False, qkv_bias: bool = True, headless: bool = False) -> Architecture:
    """An encoder over patches and a class token, with norms before attention and network.

    On top: a classifier, or a pooler, or nothing.
    """
    area = T.mul(channels, patch, patch)
    parts = Part(weights=(
        *weights("patch embedding weight", "patch embedding", channels, patch, patch, d_model)
        .weights,
        *weights("patch embedding bias", "patch embedding", d_model).weights,
    ))  # fmt: skip
    parts += product("patch embedding", "patch embedding", patches, area, d_model, first=True)
    parts += step("patch embedding bias", "patch embedding", every(patches, d_model, add=1),
                  every(d_model, add=T.sub(patches, T.ONE)))  # fmt: skip
    parts += weights("class token", "class token", d_model)
    parts += weights("position embedding", POSITIONS, tokens, d_model)
    parts += _added(POSITIONS, tokens)
    norms = [layer_norm(f"norm {k}", tokens) for k in (1, 2)]
    own = attention(equal_heads(heads, d_model), tokens, tokens, Biases(qkv=qkv_bias, output=True))
    inner = [own, feed_forward(tokens, bias=True)]
    parts += _layer(norms, inner, norm_first=True, rows=tokens).repeated(layers)
    parts += layer_norm("final norm", tokens, read=False)
    if pooler:
        parts += _pooler()
    elif not headless:
        parts += linear("classifier", "output head", T.ONE, d_model, classes, bias=True)
        parts += kept("classified token", "output head", d_model)
    conventions = (
        f"biases: {'in every linear map' if qkv_bias else 'not of queries, keys and values'}",
        "LayerNorm (gain and bias): two in a layer, before attention and network",
        "final norm: yes",
        "positions: a learned table of one row for each patch and for the class token",
        _top_of_vit(pooler, headless),
    )
    return Architecture("vit", "ViT", parts, conventions, tokens)


def _top_of_vit(pooler: bool, headless: bool) -> str:
    if pooler:
        return "pooler: a linear map of the class token; no classifier"
    if headless:
        return "output head: none"
    return "output head: a linear map of the class token to C classes, with bias"
