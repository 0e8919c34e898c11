"""Totals that were published, each with the sizes that were published with it.

`printed` is the number as far as it is printed: 65e6 is "65 x 10^6", 7.24e9 is "7.24B".  A row can
be read in several ways; the first is the one that its source describes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from derive.count import families, sizes
from derive.count.description import Architecture
from derive.count.families import GptOptions
from derive.count.models import Model, from_config


@dataclass(frozen=True)
class Reading:
    """One way to take what was published; `why` is empty for the only one."""

    model: Model
    why: str = ""


@dataclass(frozen=True)
class Row:
    """A published total.  `note` is what is known of it beyond the count; `of` says what was
    printed: the total, or the parameters that one token makes use of."""

    family: str
    name: str
    source: str
    printed: str
    text: str
    readings: tuple[Reading, ...]
    note: str = ""
    of: str = field(default="total")

    @property
    def id(self) -> str:
        return f"{self.family}/{self.name}"


def _config(kind: str, **values: Any) -> Model:
    return from_config({"model_type": kind, **values}, kind)


def _rows(family: str, source: str, *rows: tuple[Any, ...]) -> list[Row]:
    """Rows of one table; a row is (name, printed, text, model or readings, note)."""
    out = []
    for name, printed, text, model, *note in rows:
        readings = (Reading(model),) if isinstance(model, Model) else tuple(model)
        out.append(Row(family, name, source, printed, text, readings, *note))
    return out


# ---------------------------------------------------------------------------- the original

ORIGINAL: Final = "Attention Is All You Need"
_TABLE_3: Final = "arXiv 1706.03762, Table 3"


def _original(**changes: Any) -> Model:
    base = {"num_layers": 6, "d_model": 512, "d_ff": 2048, "num_heads": 8, "d_k": 64, "d_v": 64,
            "vocab_size": 37000}  # fmt: skip
    return _config("transformer", **{**base, **changes})


def _in_table_3(name: str, millions: int, empty: bool = False, **changes: Any) -> tuple[Any, ...]:
    text = f"{millions} x 10^6" + (" (empty cell: as the base model)" if empty else "")
    return name, f"{millions}e6", text, _original(**changes)


def _original_rows() -> list[Row]:
    heads = [
        _in_table_3(f"A h={h}", 65, True, num_heads=h, d_k=512 // h, d_v=512 // h)
        for h in (1, 4, 16, 32)
    ]
    return _rows(
        ORIGINAL, _TABLE_3,
        _in_table_3("base", 65), *heads,
        _in_table_3("B d_k=16", 58, d_k=16), _in_table_3("B d_k=32", 60, d_k=32),
        _in_table_3("C N=2", 36, num_layers=2), _in_table_3("C N=4", 50, num_layers=4),
        _in_table_3("C N=8", 80, num_layers=8),
        _in_table_3("C d=256", 28, d_model=256, d_k=32, d_v=32),
        _in_table_3("C d=1024", 168, d_model=1024, d_k=128, d_v=128),
        _in_table_3("C d_ff=1024", 53, d_ff=1024), _in_table_3("C d_ff=4096", 90, d_ff=4096),
        _in_table_3("big", 213, d_model=1024, d_ff=4096, num_heads=16),
    )  # fmt: skip


#: Pairs of rows of Table 3 whose difference does not depend on the vocabulary.
DIFFERENCES: Final = (
    ("base", "C N=2"), ("base", "C N=4"), ("C N=8", "base"), ("C d_ff=4096", "base"),
    ("base", "C d_ff=1024"), ("base", "B d_k=16"), ("base", "B d_k=32"),
)  # fmt: skip

# ---------------------------------------------------------------------------- encoders


def _bert(layers: int, width: int, words: int = 30522) -> Model:
    return _config("bert", num_hidden_layers=layers, hidden_size=width, vocab_size=words,
                   num_attention_heads=width // 64, intermediate_size=4 * width)  # fmt: skip


def _exact(name: str, number: int, model: Any, *note: str) -> tuple[Any, ...]:
    return name, str(number), f"{number:,}", model, *note


def _bert_rows() -> list[Row]:
    keras, paper = "KerasHub, presets of BERT", "arXiv 1810.04805, section 3"
    return [
        *_rows(
            "BERT", keras,
            _exact("tiny, uncased", 4385920, _bert(2, 128)),
            _exact("small, uncased", 28763648, _bert(4, 512)),
            _exact("medium, uncased", 41373184, _bert(8, 512)),
            _exact("base, uncased", 109482240, _bert(12, 768)),
            _exact("base, cased", 108310272, _bert(12, 768, 28996)),
            _exact("base, Chinese", 102267648, _bert(12, 768, 21128)),
            _exact("base, multilingual cased", 177853440, _bert(12, 768, 119547)),
            _exact("large, uncased", 335141888, _bert(24, 1024)),
            _exact("large, cased", 333579264, _bert(24, 1024, 28996)),
        ),
        *_rows(
            "BERT", paper,
            ("base", "11e7", "110M", _bert(12, 768), "two digits are printed"),
            ("large", "34e7", "340M", _bert(24, 1024), "two digits are printed"),
        ),
    ]  # fmt: skip


def _vit(layers: int, width: int, patch: int, image: int = 224, classes: int = 1000) -> Model:
    heads = 16 if width > 768 else 12
    return _config("vit", num_hidden_layers=layers, hidden_size=width, num_attention_heads=heads,
                   intermediate_size=4 * width, patch_size=patch, image_size=image,
                   num_labels=classes)  # fmt: skip


def _vit_rows() -> list[Row]:
    library, paper = "torchvision, models of ViT", "arXiv 2010.11929, Table 1"
    return [
        *_rows(
            "ViT", library,
            _exact("B/16", 86567656, _vit(12, 768, 16)),
            _exact("B/32", 88224232, _vit(12, 768, 32)),
            _exact("L/16", 304326632, _vit(24, 1024, 16)),
            _exact("L/32", 306535400, _vit(24, 1024, 32)),
            _exact("H/14 at 518 pixels", 633470440, _vit(32, 1280, 14, 518)),
        ),
        *_rows(
            "ViT", paper,
            ("Base", "86e6", "86M", _encoder_only(12, 768), "without head"),
            ("Large", "307e6", "307M", _encoder_only(24, 1024), "without head"),
            ("Huge", "632e6", "632M", _encoder_only(32, 1280, 14), "without head"),
        ),
    ]  # fmt: skip


def _encoder_only(layers: int, width: int, patch: int = 16) -> Model:
    """The parameters without a head."""
    model = _vit(layers, width, patch, classes=1)
    return _with(model, families.vit(headless=True))


def _with(model: Model, architecture: Architecture) -> Model:
    return Model(model.model_type, architecture, model.values, model.context, model.limited,
                 model.lengths)  # fmt: skip


# ---------------------------------------------------------------------------- GPT, OPT


def _gpt2(layers: int, width: int, words: int = 50257, **more: Any) -> Model:
    return _config("gpt2", n_layer=layers, n_embd=width, n_head=width // 64, vocab_size=words,
                   **more)  # fmt: skip


def _gpt2_rows() -> list[Row]:
    plain = _with(_gpt2(12, 768), families.gpt(GptOptions(positions=None)))
    first, later = "the paper on GPT-2, Table 2", "the authors' later model names"
    renamed = "the authors declared it wrong later; it is the size of GPT-1"
    return [
        *_rows("GPT", "the paper on GPT, as quoted later",
               ("GPT-1", "117e6", "117M", _config("openai-gpt"))),
        *_rows(
            "GPT-2", "KerasHub, presets of GPT-2",
            _exact("small", 124439808, _gpt2(12, 768)),
            _exact("medium", 354823168, _gpt2(24, 1024)),
            _exact("large", 774030080, _gpt2(36, 1280)),
            _exact("xl", 1557611200, _gpt2(48, 1600)),
        ),
        *_rows(
            "GPT-2", first,
            ("first name of small", "117e6", "117M", _gpt2(12, 768), renamed),
            ("first name of medium", "345e6", "345M", _gpt2(24, 1024), "declared wrong later"),
            ("first name of large", "762e6", "762M", _gpt2(36, 1280), "declared wrong later"),
            ("first name of xl", "1542e6", "1542M", _gpt2(48, 1600), "declared wrong later"),
        ),
        *_rows(
            "GPT-2", later,
            ("124M", "124e6", "124M", _gpt2(12, 768)),
            ("355M", "355e6", "355M", _gpt2(24, 1024)),
            ("774M", "774e6", "774M", _gpt2(36, 1280)),
            ("1558M", "1558e6", "1558M", _gpt2(48, 1600)),
        ),
        *_rows("GPT-2", "gpt2-japanese, issue 6",
               _exact("Japanese medium", 324426752, _gpt2(24, 1024, 20573),
                      "the model's page said 274041856, which is 20 layers")),
        *_rows("GPT-2", "nanoGPT, README and issues",
               _exact("small, position table left out", 123653376, plain)),
    ]  # fmt: skip


def _gpt3(layers: int, width: int, heads: int, head: int, other: int | None = None
          ) -> tuple[Reading, ...]:  # fmt: skip
    """With the width of the model for all heads together, or with heads times their width."""
    values = {
        sizes.layers: layers, sizes.d_model: width, sizes.heads: heads, sizes.d_k: head,
        sizes.d_ff: 4 * width, sizes.vocabulary: 50257, sizes.context: 2048,
    }  # fmt: skip
    same = heads * head == width
    found = [Reading(Model("gpt2", families.gpt(), values, 2048, True),
                     "" if same else f"attention of the width d_model = {width}")]  # fmt: skip
    if not same:
        free = families.gpt(GptOptions(free_widths=True))
        found.append(Reading(Model("gpt2", free, values, 2048, True),
                             f"attention of the width h d_k = {heads * head}"))  # fmt: skip
    if other is not None:
        changed = {**values, sizes.d_model: other, sizes.d_ff: 4 * other}
        found.append(Reading(Model("gpt2", families.gpt(), changed, 2048, True),
                             f"d_model = {other}, not {width}"))  # fmt: skip
    return tuple(found)


def _gpt3_rows() -> list[Row]:
    return _rows(
        "GPT-3", "arXiv 2005.14165, Table 2.1",
        ("Small", "125e6", "125M", _gpt3(12, 768, 12, 64)),
        ("Medium", "350e6", "350M", _gpt3(24, 1024, 16, 64)),
        ("Large", "760e6", "760M", _gpt3(24, 1536, 16, 96)),
        ("XL", "1.3e9", "1.3B", _gpt3(24, 2048, 24, 128)),
        ("2.7B", "2.7e9", "2.7B", _gpt3(32, 2560, 32, 80)),
        ("6.7B", "6.7e9", "6.7B", _gpt3(32, 4096, 32, 128)),
        ("13B", "13.0e9", "13.0B", _gpt3(40, 5140, 40, 128, 5120),
         "40 heads of 128 make 5120, the printed width is 5140"),
        ("175B", "175.0e9", "175.0B", _gpt3(96, 12288, 96, 128),
         "to three digits it is 175; the fourth is not that of the count"),
    )  # fmt: skip


def _opt(layers: int, heads: int, width: int, **more: Any) -> Model:
    return _config("opt", num_hidden_layers=layers, num_attention_heads=heads, hidden_size=width,
                   ffn_dim=4 * width, **more)  # fmt: skip


def _opt_rows() -> list[Row]:
    narrow = _opt(24, 16, 1024, word_embed_proj_dim=512, do_layer_norm_before=False)
    two_ways = (
        Reading(narrow, "as stored: embedding of width 512, norms after the sums, no final norm"),
        Reading(_opt(24, 16, 1024), "as the other models of the family"),
    )
    return _rows(
        "OPT", "arXiv 2205.01068, Table 1",
        ("125M", "125e6", "125M", _opt(12, 12, 768)),
        ("350M", "350e6", "350M", two_ways, "neither way of counting gives the printed value"),
        ("1.3B", "1.3e9", "1.3B", _opt(24, 32, 2048)),
        ("2.7B", "2.7e9", "2.7B", _opt(32, 32, 2560)),
        ("6.7B", "6.7e9", "6.7B", _opt(32, 32, 4096)),
        ("13B", "13e9", "13B", _opt(40, 40, 5120)),
        ("30B", "30e9", "30B", _opt(48, 56, 7168)),
        ("66B", "66e9", "66B", _opt(64, 72, 9216)),
        ("175B", "175e9", "175B", _opt(96, 96, 12288)),
    )  # fmt: skip


# ---------------------------------------------------------------------------- T5


def _t5(layers: int, width: int, inner: int, heads: int, head: int = 64, *, tied: bool = True,
        kind: str = "t5", gated: bool = False) -> Model:  # fmt: skip
    return _config(
        kind, num_layers=layers, d_model=width, d_ff=inner, num_heads=heads, d_kv=head,
        tie_word_embeddings=tied, feed_forward_proj="gated-gelu" if gated else "relu",
    )  # fmt: skip


def _tied_or_not(*shape: int) -> tuple[Reading, ...]:
    return (
        Reading(_t5(*shape), "output head tied, as described"),
        Reading(_t5(*shape, tied=False), "output head with a matrix of its own"),
    )


def _t5_rows() -> list[Row]:
    small, base, large = (6, 512, 2048, 8), (12, 768, 3072, 12), (24, 1024, 4096, 16)
    return [
        *_rows(
            "T5", "arXiv 1910.10683, section 3.7",
            ("Small, rounded", "60e6", "60M", _tied_or_not(*small)),
            ("Base, rounded", "22e7", "220M", _tied_or_not(*base), "two digits are printed"),
            ("Large, rounded", "77e7", "770M", _tied_or_not(*large),
             "two digits are printed, those of a head with a matrix of its own"),
            ("3B, rounded", "2.8e9", "2.8B", _tied_or_not(24, 1024, 16384, 32, 128)),
            ("11B, rounded", "11e9", "11B", _tied_or_not(24, 1024, 65536, 128, 128)),
        ),
        *_rows(
            "T5", "counts of checkpoints that store the output matrix separately",
            _exact("small, untied", 76956160, _t5(*small, tied=False)),
            _exact("large, untied", 770567168, _t5(*large, tied=False)),
        ),
        *_rows(
            "T5 v1.1", "counts of checkpoints",
            _exact("small", 76961152, _t5(8, 512, 1024, 6, tied=False, gated=True)),
            _exact("base", 247577856, _t5(12, 768, 2048, 12, tied=False, gated=True)),
            _exact("large", 783150080, _t5(24, 1024, 2816, 16, tied=False, gated=True)),
            _exact("XL", 2849757184, _t5(24, 2048, 5120, 32, tied=False, gated=True)),
            _exact("XXL", 11135332352, _t5(24, 4096, 10240, 64, tied=False, gated=True)),
        ),
        *_rows(
            "mT5", "arXiv 2010.11934, section 3",
            ("Small", "300e6", "300M", _mt5(8, 512, 1024, 6)),
            ("Base", "580e6", "580M", _mt5(12, 768, 2048, 12)),
            ("Large", "1.2e9", "1.2B", _mt5(24, 1024, 2816, 16)),
            ("XL", "3.7e9", "3.7B", _mt5(24, 2048, 5120, 32)),
            ("XXL", "13e9", "13B", _mt5(24, 4096, 10240, 64)),
        ),
    ]  # fmt: skip


def _mt5(layers: int, width: int, inner: int, heads: int) -> Model:
    return _t5(layers, width, inner, heads, tied=False, kind="mt5", gated=True)


# ---------------------------------------------------------------------------- LLaMA and kin


def _llama(
    layers: int, width: int, inner: int, heads: int, kv_heads: int | None = None,
    words: int = 32000, *, tied: bool = False, kind: str = "llama", **more: Any,
) -> Model:  # fmt: skip
    return _config(
        kind, num_hidden_layers=layers, hidden_size=width, intermediate_size=inner,
        num_attention_heads=heads, num_key_value_heads=kv_heads or heads, vocab_size=words,
        tie_word_embeddings=tied, **more,
    )  # fmt: skip


def _llama_rows() -> list[Row]:
    name = "a name more than a count"

    def stories(*shape: int) -> tuple[Reading, ...]:
        return (Reading(_llama(*shape), "the shared matrix counted twice, as it is stored"),
                Reading(_llama(*shape, tied=True), "the shared matrix counted once"))  # fmt: skip

    return [
        *_rows(
            "LLaMA", "arXiv 2302.13971, Table 2",
            ("7B", "6.7e9", "6.7B", _llama(32, 4096, 11008, 32)),
            ("13B", "13.0e9", "13.0B", _llama(40, 5120, 13824, 40)),
            ("33B", "32.5e9", "32.5B", _llama(60, 6656, 17920, 52)),
            ("65B", "65.2e9", "65.2B", _llama(80, 8192, 22016, 64)),
        ),
        *_rows(
            "Llama 2", "arXiv 2307.09288, Table 1",
            ("7B", "7e9", "7B", _llama(32, 4096, 11008, 32)),
            ("13B", "13e9", "13B", _llama(40, 5120, 13824, 40)),
            ("70B", "70e9", "70B", _llama(80, 8192, 28672, 64, 8), name),
        ),
        *_rows(
            "Llama 3", "model cards and counts of checkpoints",
            _exact("8B", 8030261248, _llama(32, 4096, 14336, 32, 8, 128256)),
            ("70B", "70e9", "70B", _llama(80, 8192, 28672, 64, 8, 128256), name),
            _exact("70B, checkpoint", 70553706496, _llama(80, 8192, 28672, 64, 8, 128256)),
            ("405B", "405e9", "405B", _llama(126, 16384, 53248, 128, 8, 128256), name),
            _exact("405B, checkpoint", 405853388800,
                   _llama(126, 16384, 53248, 128, 8, 128256)),
            ("3.2 1B", "1.23e9", "1.23B",
             _llama(16, 2048, 8192, 32, 8, 128256, tied=True)),
            ("3.2 3B", "3.21e9", "3.21B",
             _llama(28, 3072, 8192, 24, 8, 128256, tied=True)),
        ),
        *_rows(
            "LLaMA", "llama2.c, issue 378: sums over the stored dictionary",
            _exact("stories, 15M", 24407712, stories(6, 288, 768, 6)),
            _exact("stories, 42M", 58073600, stories(8, 512, 1376, 8)),
            _exact("stories, 110M", 134105856, stories(12, 768, 2048, 12)),
        ),
        *_rows(
            "Mistral", "announcement and count of the checkpoint",
            ("7B", "7.3e9", "7.3B", _llama(32, 4096, 14336, 32, 8, kind="mistral")),
            _exact("7B, checkpoint", 7241732096,
                   _llama(32, 4096, 14336, 32, 8, kind="mistral")),
        ),
    ]  # fmt: skip


def _mixtral_rows() -> list[Row]:
    small = _llama(32, 4096, 14336, 32, 8, kind="mixtral", num_local_experts=8,
                   num_experts_per_tok=2)  # fmt: skip
    large = _llama(56, 6144, 16384, 48, 8, kind="mixtral", num_local_experts=8,
                   num_experts_per_tok=2)  # fmt: skip
    paper, later = "arXiv 2401.04088", "announcement"

    def row(name: str, source: str, printed: str, text: str, model: Model, of: str) -> Row:
        return Row("Mixtral", name, source, printed, text, (Reading(model),), of=of)

    return [
        row("8x7B", paper, "47e9", "47B", small, "total"),
        row("8x7B, announced", later, "46.7e9", "46.7B", small, "total"),
        row("8x7B, for one token", later, "12.9e9", "12.9B", small, "active"),
        row("8x22B", later, "141e9", "141B", large, "total"),
        row("8x22B, for one token", later, "39e9", "39B", large, "active"),
    ]


# ---------------------------------------------------------------------------- Gopher, PaLM


def _gopher(layers: int, heads: int, head: int, width: int, kind: str = "gopher") -> Any:
    values = {
        "num_hidden_layers": layers, "num_attention_heads": heads, "head_dim": head,
        "hidden_size": width, "intermediate_size": 4 * width, "vocab_size": 32000,
    }  # fmt: skip
    return (
        Reading(_config(kind, **values), "with the matrices of the relative positions"),
        Reading(_config(kind, **values, relative_positions=False), "without these"),
    )


def _gopher_rows() -> list[Row]:
    return [
        *_rows(
            "Gopher", "arXiv 2112.11446, Table 1",
            ("44M", "44e6", "44M", _gopher(8, 16, 32, 512)),
            ("117M", "117e6", "117M", _gopher(12, 12, 64, 768)),
            ("417M", "417e6", "417M", _gopher(12, 12, 128, 1536)),
            ("1.4B", "1.4e9", "1.4B", _gopher(24, 16, 128, 2048)),
            ("7.1B", "7.1e9", "7.1B", _gopher(32, 32, 128, 4096)),
            ("280B", "280e9", "280B", _gopher(80, 128, 128, 16384)),
        ),
        *_rows("Chinchilla", "arXiv 2203.15556, Table 4",
               ("70B", "70e9", "70B", _gopher(80, 64, 128, 8192, "chinchilla"))),
    ]  # fmt: skip


def _palm(layers: int, width: int, heads: int) -> Model:
    return _config("palm", num_hidden_layers=layers, hidden_size=width, num_attention_heads=heads,
                   head_dim=256, intermediate_size=4 * width, vocab_size=256000)  # fmt: skip


def _palm_rows() -> list[Row]:
    return _rows(
        "PaLM", "arXiv 2204.02311, Table 1",
        ("8B", "8.63e9", "8.63B", _palm(32, 4096, 16)),
        ("62B", "62.50e9", "62.50B", _palm(64, 8192, 32)),
        ("540B", "540.35e9", "540.35B", _palm(118, 18432, 48)),
    )  # fmt: skip


def rows() -> Sequence[Row]:
    """The table, family by family."""
    return [
        *_original_rows(), *_bert_rows(), *_gpt2_rows(), *_gpt3_rows(), *_opt_rows(), *_t5_rows(),
        *_llama_rows(), *_mixtral_rows(), *_gopher_rows(), *_palm_rows(), *_vit_rows(),
    ]  # fmt: skip


# ---------------------------------------------------------------------------- operations


@dataclass(frozen=True)
class ComputeRow:
    """Published operations of training: a part of the model, how often it is computed, on how
    many tokens; or six operations for every parameter and token."""

    name: str
    source: str
    printed: str
    text: str
    model: Model
    tokens: int
    parts: tuple[str, ...] = ()
    times: Mapping[str, int] = field(default_factory=dict)


def compute_rows() -> Sequence[ComputeRow]:
    values = {
        sizes.layers: 44, sizes.d_model: 6144, sizes.heads: 64, sizes.d_ff: 4 * 6144,
        sizes.vocabulary: 51200, sizes.context: 2048,
    }  # fmt: skip
    model = Model("gpt2", families.gpt(), values, 2048, True)
    source = "EleutherAI cookbook, pull request 31"

    def row(name: str, printed: str, text: str, *parts: str) -> ComputeRow:
        times = {part: 3 if part == "output head" else 4 for part in parts}
        return ComputeRow(name, source, printed, text, model, 300 * 10**9, parts, times)

    projections = ("query", "key", "value")
    network = ("up", "down")
    every = (*projections, "scores", "weighted sums", "output", *network, "output head")
    gpt3 = _gpt3_rows()
    return [
        row("20B-class run, queries, keys and values", "11.96e21", "11.96 ZFLOPs", *projections),
        row("20B-class run, scores", "1.33e21", "1.33 ZFLOPs", "scores"),
        row("20B-class run, values", "1.33e21", "1.33 ZFLOPs", "weighted sums"),
        row("20B-class run, output", "3.99e21", "3.99 ZFLOPs", "output"),
        row("20B-class run, network", "31.89e21", "31.89 ZFLOPs", *network),
        row("20B-class run, embedding", "566.23e18", "566.23 EFLOPs", "output head"),
        row("20B-class run", "51.06e21", "51.06 ZFLOPs", *every),
        *(
            ComputeRow(f"GPT-3 {r.name}, six per parameter and token",
                       "arXiv 2005.14165, Table D.1", printed, printed, r.readings[k].model,
                       300 * 10**9)
            for r, printed, k in zip(
                gpt3,
                ("2.25e20", "6.41e20", "1.37e21", "2.38e21", "4.77e21", "1.20e22", "2.31e22",
                 "3.14e23"),
                (0, 0, 0, 0, 0, 0, -1, 0), strict=True,
            )
        ),
    ]  # fmt: skip
