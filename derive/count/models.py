"""Model types: which keys of a configuration give which size, with the libraries' defaults."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from derive.count import families, sizes
from derive.count.blocks import Biases
from derive.count.configfile import Keys, short
from derive.count.description import Architecture
from derive.count.families import GptOptions, LlamaOptions, OriginalOptions
from derive.kernel import terms as T
from derive.kernel.terms import Term


@dataclass(frozen=True)
class Model:
    """An architecture with its sizes.

    `context` is the longest sequence; `limited` says that a table of positions ends there;
    `lengths` are the symbols of lengths that may be chosen; a number takes `bytes` bytes, as
    `dtype` says or, where it is empty, by convention.
    """

    model_type: str
    architecture: Architecture
    values: Mapping[Term, int]
    context: int
    limited: bool = False
    lengths: tuple[Term, ...] = (sizes.n,)
    notes: tuple[str, ...] = ()
    bytes: int = 2
    dtype: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict)


def from_config(values: Mapping[str, Any], where: str) -> Model:
    """The model that a configuration describes.  Raises InputError, one line."""
    kind = values.get("model_type")
    keys = Keys(where, values)
    if kind is None:
        raise keys.fail("model_type is missing")
    read = READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise keys.fail(
            f"the model_type {short(kind)} is not known; known are {', '.join(READERS)}"
        )
    keys.kind = kind
    for name in _REFUSED:
        keys.refuse(name, False, {}, [])
    return read(keys)


#: What would change the count of any family: heads taken out, stacks that share their weights, and
#: the sizes of a part of a larger model.
_REFUSED: Final = ("pruned_heads", "tie_encoder_decoder", "text_config")


# ---------------------------------------------------------------------------- GPT and OPT


def _gpt2(k: Keys) -> Model:
    k.refuse("add_cross_attention", False)
    width, count = k.size("n_embd", "hidden_size", default=768), _gpt_heads(k)
    k.divides(("n_head", count), ("n_embd", width))
    old_name = ("n_ctx",) if "n_positions" not in k.values else ()  # the library ignores it
    context = k.size("n_positions", *old_name, "max_position_embeddings", default=1024)
    options = GptOptions(tied=k.flag("tie_word_embeddings", True))
    inner = k.optional_size("n_inner")
    scaled = k.flag("scale_attn_weights", True), k.flag("scale_attn_by_inverse_layer_idx", False)
    notes = () if scaled == (True, False) else (_SCALED_ONCE,)
    return _gpt(k, families.gpt(options), width, count, inner, 50257, context, notes)


_SCALED_ONCE: Final = "operations: scores are scaled once, whatever the configuration says of it"


def _gpt_heads(k: Keys) -> int:
    return k.size("n_head", "num_attention_heads", default=12)


def _openai_gpt(k: Keys) -> Model:
    width, count = k.size("n_embd", "hidden_size", default=768), _gpt_heads(k)
    k.divides(("n_head", count), ("n_embd", width))
    context = k.size("n_positions", "max_position_embeddings", default=512)
    options = GptOptions("gpt", "GPT", norm_first=False, final_norm=False,
                         tied=k.flag("tie_word_embeddings", True))  # fmt: skip
    return _gpt(k, families.gpt(options), width, count, None, 40478, context)


def _gpt(
    k: Keys, found: Architecture, width: int, count: int, inner: int | None, words: int,
    context: int, notes: tuple[str, ...] = (),
) -> Model:  # fmt: skip
    values = {
        sizes.layers: k.size("n_layer", "num_hidden_layers", default=12),
        sizes.d_model: width, sizes.heads: count, sizes.context: context,
        sizes.d_ff: 4 * width if inner is None else inner,
        sizes.vocabulary: k.size("vocab_size", default=words),
    }  # fmt: skip
    return _model(k, found, values, context, limited=True, notes=notes)


def _opt(k: Keys) -> Model:
    width = k.size("hidden_size", default=768)
    count = k.size("num_attention_heads", default=12)
    k.divides(("num_attention_heads", count), ("hidden_size", width))
    narrow = k.optional_size("word_embed_proj_dim") or width
    first = k.flag("do_layer_norm_before", True)
    options = GptOptions(
        "opt", "OPT", positions=T.add(sizes.context, T.num(2)), norm_first=first,
        final_norm=first and not k.flag("_remove_final_layer_norm", False),
        norm_parameters=k.flag("layer_norm_elementwise_affine", True),
        bias=k.flag("enable_bias", True), tied=k.flag("tie_word_embeddings", True),
        projected=narrow != width,
    )  # fmt: skip
    context = k.size("max_position_embeddings", default=2048)
    values = {
        sizes.layers: k.size("num_hidden_layers", default=12), sizes.d_model: width,
        sizes.heads: count, sizes.context: context, sizes.d_embed: narrow,
        sizes.d_ff: k.size("ffn_dim", default=3072),
        sizes.vocabulary: k.size("vocab_size", default=50272),
    }  # fmt: skip
    notes = ("positions: the table has two rows more than there are positions",)
    return _model(k, families.gpt(options), values, context, limited=True, notes=notes)


# ---------------------------------------------------------------------------- BERT


def _bert(k: Keys) -> Model:
    for name in ("is_decoder", "add_cross_attention"):
        k.refuse(name, False)
    k.refuse("position_embedding_type", "absolute")
    width = k.size("hidden_size", default=768)
    count = k.size("num_attention_heads", default=12)
    k.divides(("num_attention_heads", count), ("hidden_size", width))
    context = k.size("max_position_embeddings", default=512)
    values = {
        sizes.layers: k.size("num_hidden_layers", default=12), sizes.d_model: width,
        sizes.heads: count, sizes.context: context,
        sizes.d_ff: k.size("intermediate_size", default=3072),
        sizes.vocabulary: k.size("vocab_size", default=30522),
        sizes.segments: k.size("type_vocab_size", default=2),
    }  # fmt: skip
    return _model(k, families.bert(), values, context, limited=True)


# ---------------------------------------------------------------------------- LLaMA and kin


@dataclass(frozen=True)
class _LlamaDefaults:
    words: int = 32000
    width: int = 4096
    inner: int = 11008
    layers: int = 32
    heads: int = 32
    kv_heads: int | None = None
    context: int = 2048


def _llama_values(k: Keys, default: _LlamaDefaults) -> tuple[dict[Term, int], int]:
    width = k.size("hidden_size", default=default.width)
    count = k.size("num_attention_heads", default=default.heads)
    if default.kv_heads is None or "num_key_value_heads" in k.values:
        shared = k.optional_size("num_key_value_heads") or count
    else:
        shared = k.size("num_key_value_heads", default=default.kv_heads)
    k.divides(("num_key_value_heads", shared), ("num_attention_heads", count))
    given = k.optional_size("head_dim")
    own = given or k.divides(("num_attention_heads", count), ("hidden_size", width))
    _pairs(k, own)
    context = k.size("max_position_embeddings", default=default.context)
    return {
        sizes.layers: k.size("num_hidden_layers", default=default.layers),
        sizes.d_model: width, sizes.heads: count, sizes.kv_heads: shared, sizes.d_k: own,
        sizes.d_ff: k.size("intermediate_size", default=default.inner),
        sizes.vocabulary: k.size("vocab_size", default=default.words),
    }, context  # fmt: skip


def _pairs(k: Keys, width_of_head: int) -> None:
    """Rotary positions turn the entries of a head pair by pair."""
    if width_of_head % 2:
        raise k.fail(f"a head is {width_of_head} wide, an odd number; rotary positions need pairs")


def _llama(k: Keys) -> Model:
    values, context = _llama_values(k, _LlamaDefaults())
    bias = k.flag("attention_bias", False)
    options = LlamaOptions(
        biases=Biases(bias, bias), network_bias=k.flag("mlp_bias", False),
        tied=k.flag("tie_word_embeddings", False),
    )  # fmt: skip
    return _model(k, families.llama(options), values, context)


_WINDOW: Final = "attention: to all tokens, as if no window limited it; so is the cache"


def _qwen2(k: Keys) -> Model:
    defaults = _LlamaDefaults(words=151936, inner=22016, kv_heads=32, context=32768)
    values, context = _llama_values(k, defaults)
    options = LlamaOptions(
        "qwen2", "Qwen2", biases=Biases(qkv=True), tied=k.flag("tie_word_embeddings", False)
    )
    window = k.optional_size("sliding_window") and k.flag("use_sliding_window", False)
    return _model(k, families.llama(options), values, context, notes=(_WINDOW,) if window else ())


def _mistral(k: Keys) -> Model:
    values, context = _llama_values(k, _LlamaDefaults(inner=14336, kv_heads=8, context=131072))
    options = LlamaOptions(tied=k.flag("tie_word_embeddings", False))
    window = k.optional_size("sliding_window")
    notes = (_WINDOW,) if window or "sliding_window" not in k.values else ()
    return _model(k, families.llama(options), values, context, notes=notes)


def _mixtral(k: Keys) -> Model:
    values, context = _llama_values(k, _LlamaDefaults(inner=14336, kv_heads=8, context=131072))
    values[sizes.experts] = k.size("num_local_experts", default=8)
    values[sizes.active_experts] = k.size("num_experts_per_tok", default=2)
    if values[sizes.active_experts] > values[sizes.experts]:
        raise k.fail("num_experts_per_tok is more than num_local_experts")
    title = "mixture of experts (Mixtral)"
    options = LlamaOptions("mixtral", title, mixture=True,
                           tied=k.flag("tie_word_embeddings", False))  # fmt: skip
    notes = (_WINDOW,) if k.optional_size("sliding_window") else ()
    return _model(k, families.llama(options), values, context, notes=notes)


# ---------------------------------------------------------------------------- encoder and decoder


def _t5(k: Keys) -> Model:
    words, inner, depth, count, form, tied = 32128, 2048, 6, 8, "relu", True
    if k.kind == "mt5":
        words, inner, depth, count, form, tied = 250112, 1024, 8, 6, "gated-gelu", False
    encoder = k.size("num_layers", default=depth)
    gated = _gated(k, form)
    values = {
        sizes.encoder_layers: encoder,
        sizes.decoder_layers: k.optional_size("num_decoder_layers") or encoder,
        sizes.d_model: k.size("d_model", "hidden_size", default=512),
        sizes.d_k: k.size("d_kv", default=64),
        sizes.heads: k.size("num_heads", "num_attention_heads", default=count),
        sizes.d_ff: k.size("d_ff", default=inner),
        sizes.buckets: k.size("relative_attention_num_buckets", default=32),
        sizes.vocabulary: k.size("vocab_size", default=words),
    }  # fmt: skip
    tied = k.flag("tie_word_embeddings", tied)
    scaled = k.flag("scale_decoder_outputs", tied)
    found = families.t5(gated=gated, tied=tied, scaled=scaled)
    context = k.optional_size("n_positions") or 512
    return _model(k, found, values, context, lengths=(sizes.n, sizes.m))


def _gated(k: Keys, default: str) -> bool:
    """Whether the network has a gate; newer configurations say it a second time."""
    form = k.word("feed_forward_proj", default)
    first, *rest = form.split("-")
    gated = first == "gated"
    if not all((first, *rest)) or len(rest) != gated:
        raise k.fail(f"feed_forward_proj is {short(form)}, not of the form relu or gated-gelu")
    found = k.flag("is_gated_act", gated)
    if found is not gated and "feed_forward_proj" in k.values:
        raise k.fail(
            f"feed_forward_proj = {short(form)} and is_gated_act = {short(found)} "
            "contradict each other"
        )
    return found


def _original(k: Keys) -> Model:
    width, count = k.size("d_model"), k.size("num_heads")
    d_k, d_v = k.optional_size("d_k"), k.optional_size("d_v")
    share = None if d_k and d_v else k.divides(("num_heads", count), ("d_model", width))
    shared = k.size("shared_embeddings", default=3)
    if shared > 3:
        raise k.fail(f"shared_embeddings is {shared}, not 1, 2 or 3")
    options = OriginalOptions(
        attention_bias=k.flag("attention_bias", False), final_norms=k.flag("final_norm", False),
        shared=shared,
    )  # fmt: skip
    encoder = k.size("encoder_layers", "num_layers")
    decoder = k.optional_size("decoder_layers") or encoder
    values = {
        sizes.encoder_layers: encoder, sizes.decoder_layers: decoder, sizes.d_model: width,
        sizes.heads: count, sizes.d_k: d_k or share or 0, sizes.d_v: d_v or share or 0,
        sizes.d_ff: k.size("d_ff"), sizes.vocabulary: k.size("vocab_size"),
    }  # fmt: skip
    context = k.size("max_position_embeddings", default=512)
    return _model(k, families.original(options), values, context, lengths=(sizes.n, sizes.m))


# ---------------------------------------------------------------------------- PaLM, Gopher


def _palm(k: Keys) -> Model:
    values = _plain_values(k, "head_dim")
    _pairs(k, values[sizes.d_k])
    found = families.palm(norm_parameters=k.flag("norm_parameters", False))
    return _model(k, found, values, k.size("max_position_embeddings", default=2048))


def _gopher(k: Keys) -> Model:
    values = _plain_values(k, "head_dim")
    found = families.gopher(
        norm_parameters=k.flag("norm_parameters", False),
        relative=k.flag("relative_positions", True),
    )
    return _model(k, found, values, k.size("max_position_embeddings", default=2048))


def _plain_values(k: Keys, width_of_head: str) -> dict[Term, int]:
    return {
        sizes.layers: k.size("num_hidden_layers"), sizes.d_model: k.size("hidden_size"),
        sizes.heads: k.size("num_attention_heads"), sizes.d_k: k.size(width_of_head),
        sizes.d_ff: k.size("intermediate_size"), sizes.vocabulary: k.size("vocab_size"),
    }  # fmt: skip


# ---------------------------------------------------------------------------- ViT


def _vit(k: Keys) -> Model:
    width = k.size("hidden_size", default=768)
    count = k.size("num_attention_heads", default=12)
    k.divides(("num_attention_heads", count), ("hidden_size", width))
    image, patch = k.size("image_size", default=224), k.size("patch_size", default=16)
    if patch > image:
        raise k.fail(f"patch_size = {patch} is more than image_size = {image}")
    pooler = _architectures(k) == ["ViTModel"]
    k.refuse("pooler_output_size", width)
    values = {
        sizes.layers: k.size("num_hidden_layers", default=12), sizes.d_model: width,
        sizes.heads: count, sizes.d_ff: k.size("intermediate_size", default=3072),
        sizes.patches: (image // patch) ** 2, sizes.patch: patch,
        sizes.channels: k.size("num_channels", default=3), sizes.classes: _classes(k),
    }  # fmt: skip
    found = families.vit(pooler=pooler, qkv_bias=k.flag("qkv_bias", True))
    return _model(k, found, values, values[sizes.patches] + 1, lengths=())


def _classes(k: Keys) -> int:
    names = k.values.get("id2label") or {}
    if not isinstance(names, dict):
        raise k.fail(f"id2label is {short(names)}, not an object")
    if names and "num_labels" not in k.values:
        return len(names)
    return k.size("num_labels", default=2)


# ---------------------------------------------------------------------------- the table


def _model(
    k: Keys, found: Architecture, values: Mapping[Term, int], context: int,
    notes: tuple[str, ...] = (), **more: Any,
) -> Model:  # fmt: skip
    dtype = _dtype(k)
    return Model(k.kind, found, values, context, bytes=_BYTES.get(dtype, 2), dtype=dtype,
                 notes=(*notes, *_another_class(k)), defaults=k.defaults, **more)  # fmt: skip


#: The library's classes that have the parameters that are counted.
_CLASSES: Final[Mapping[str, tuple[str, ...]]] = {
    "openai-gpt": ("OpenAIGPTLMHeadModel",), "gpt2": ("GPT2LMHeadModel",),
    "bert": ("BertModel",), "opt": ("OPTForCausalLM",), "t5": ("T5ForConditionalGeneration",),
    "mt5": ("MT5ForConditionalGeneration",), "llama": ("LlamaForCausalLM",),
    "mistral": ("MistralForCausalLM",), "mixtral": ("MixtralForCausalLM",),
    "qwen2": ("Qwen2ForCausalLM",), "vit": ("ViTForImageClassification", "ViTModel"),
}  # fmt: skip


def _another_class(k: Keys) -> Iterator[str]:
    """Another head, or none, or one stack of two: said, because the count is not of that."""
    named, counted = _architectures(k), _CLASSES.get(k.kind, ())
    if counted and named and not any(name in counted for name in named):
        yield f"counted: the class {counted[0]}; the configuration names {short(named)}"


def _architectures(k: Keys) -> list[str]:
    found = k.values.get("architectures")
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise k.fail(f"architectures is {short(found)}, not a list of names")
    return found


_BYTES: Final = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1,
    "int8": 1, "uint8": 1,
}  # fmt: skip


def _dtype(k: Keys) -> str:
    """The type of the stored numbers, empty where the configuration does not tell."""
    found = {name: dtype for name in ("dtype", "torch_dtype") if (dtype := _stored_as(k, name))}
    if len(set(found.values())) > 1:
        both = " and ".join(f"{name} = {dtype}" for name, dtype in found.items())
        raise k.fail(f"{both} contradict each other")
    return next(iter(found.values()), "")


def _stored_as(k: Keys, name: str) -> str:
    found = k.values.get(name)
    if found in (None, "auto"):
        return ""
    if not isinstance(found, str) or found.removeprefix("torch.") not in _BYTES:
        raise k.fail(f"{name} is {short(found)}, not one of {', '.join(_BYTES)}")
    return found.removeprefix("torch.")


READERS: Final[Mapping[str, Callable[[Keys], Model]]] = {
    "transformer": _original, "bert": _bert, "openai-gpt": _openai_gpt, "gpt2": _gpt2,
    "opt": _opt, "t5": _t5, "mt5": _t5, "llama": _llama, "mistral": _mistral,
    "mixtral": _mixtral, "qwen2": _qwen2, "palm": _palm, "gopher": _gopher,
    "chinchilla": _gopher, "vit": _vit,
}  # fmt: skip
