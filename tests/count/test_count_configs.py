"""Configurations: the keys of each family, the libraries' defaults, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from derive.catalogue import InputError
from derive.count.configfile import LARGEST_FILE, read
from derive.count.counting import count
from derive.count.models import READERS, from_config

LLAMA_3 = {
    "architectures": ["LlamaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
    "bos_token_id": 128000, "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
    "intermediate_size": 14336, "max_position_embeddings": 8192, "model_type": "llama",
    "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
    "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": None, "rope_theta": 500000.0,
    "tie_word_embeddings": False, "torch_dtype": "bfloat16", "use_cache": True,
    "vocab_size": 128256,
}  # fmt: skip
PALM = {"model_type": "palm", "hidden_size": 8192, "num_hidden_layers": 64, "head_dim": 256,
        "num_attention_heads": 32, "intermediate_size": 32768, "vocab_size": 256000}  # fmt: skip
ORIGINAL = {"model_type": "transformer", "d_model": 512, "num_heads": 8, "num_layers": 6,
            "d_ff": 2048, "vocab_size": 37000}  # fmt: skip


def total(**values: Any) -> int:
    return count(from_config(values, "config.json")).total.number


@pytest.mark.parametrize(("kind", "expected"), [
    ("gpt2", 124439808), ("openai-gpt", 116534784), ("bert", 109482240), ("opt", 125239296),
    ("t5", 60506624), ("mt5", 300176768), ("llama", 6738415616), ("mistral", 7241732096),
    ("mixtral", 46702792704), ("qwen2", 12049846272),
])  # fmt: skip
def test_defaults_are_those_of_the_library(kind: str, expected: int) -> None:
    model = from_config({"model_type": kind}, "config.json")
    assert count(model).total.number == expected
    assert model.defaults["vocab_size"] > 1


def test_a_configuration_as_it_is_in_the_wild() -> None:
    found = count(from_config(LLAMA_3, "config.json"))
    assert found.total.number == 8030261248
    assert found.cache.number * found.bytes == 2 * 2 * 32 * 8 * 128
    assert not found.model.defaults


def test_sizes_of_any_magnitude_are_exact() -> None:
    width = 10**40
    found = total(model_type="gpt2", n_embd=width, n_head=1, n_layer=1, vocab_size=1, n_positions=1)
    assert found == 12 * width**2 + 13 * width + 4 * width


@pytest.mark.parametrize(("changes", "difference"), [
    ({"n_inner": 1}, -12 * (2 * 768 + 1) * 3071), ({"tie_word_embeddings": False}, 50257 * 768),
    ({"n_positions": 1}, -1023 * 768), ({"n_ctx": 1, "n_positions": 1}, -1023 * 768),
    ({"n_ctx": 5}, -1019 * 768), ({"n_ctx": 5, "n_positions": 1024}, 0), ({"n_inner": None}, 0),
    ({"hidden_size": 768}, 0),
])  # fmt: skip
def test_keys_of_gpt2(changes: dict[str, Any], difference: int) -> None:
    changed = total(**{"model_type": "gpt2", **changes}) - 124439808
    assert changed == difference


@pytest.mark.parametrize(("kind", "changes", "difference"), [
    ("llama", {"attention_bias": True}, 32 * 4 * 4096),
    ("llama", {"mlp_bias": True}, 32 * (2 * 11008 + 4096)),
    ("llama", {"num_key_value_heads": 8}, -32 * 2 * 4096 * 3072),
    ("llama", {"num_key_value_heads": None}, 0), ("llama", {"head_dim": None}, 0),
    ("llama", {"head_dim": 64}, -32 * 4 * 4096 * 2048),
    ("llama", {"tie_word_embeddings": True}, -32000 * 4096),
    ("t5", {"feed_forward_proj": "gated-gelu"}, 12 * 512 * 2048),
    ("t5", {"is_gated_act": True}, 12 * 512 * 2048),
    ("t5", {"feed_forward_proj": "gated-gelu", "is_gated_act": True}, 12 * 512 * 2048),
    ("t5", {"feed_forward_proj": "relu", "is_gated_act": False}, 0),
    ("t5", {"scale_decoder_outputs": False, "pruned_heads": {}}, 0),
    ("t5", {"num_decoder_layers": 5}, -(8 * 512 * 512 + 2 * 512 * 2048 + 3 * 512)),
    ("t5", {"relative_attention_num_buckets": 33}, 2 * 8),
    ("t5", {"tie_word_embeddings": False}, 32128 * 512),
    ("opt", {"enable_bias": False}, -12 * (4 * 768 + 3072 + 768)),
    ("opt", {"layer_norm_elementwise_affine": False}, -25 * 2 * 768),
    ("opt", {"do_layer_norm_before": False}, -2 * 768),
    ("opt", {"word_embed_proj_dim": 767}, -50272 + 2 * 767 * 768),
    ("bert", {"type_vocab_size": 1}, -768),
    ("vit", {"id2label": {"0": "a", "1": "b", "2": "c"}}, 769),
    ("vit", {"num_labels": 5}, 3 * 769), ("vit", {"qkv_bias": False}, -12 * 3 * 768),
    ("vit", {"architectures": ["ViTModel"]}, 768 * 768 + 768 - 2 * 769),
    ("vit", {"image_size": 32}, -(14 * 14 - 4) * 768),
    ("mixtral", {"num_local_experts": 9}, 32 * (3 * 4096 * 14336 + 4096)),
])  # fmt: skip
def test_what_a_key_changes(kind: str, changes: dict[str, Any], difference: int) -> None:
    assert total(model_type=kind, **changes) - total(model_type=kind) == difference


def test_a_head_that_is_tied_and_not_scaled() -> None:
    scaled, plain = (
        count(from_config({"model_type": "t5", **more}, "c.json"), {"n": 7, "m": 5})
        for more in ({}, {"scale_decoder_outputs": False})
    )
    for times, of in ((1, "forward"), (2, "training")):
        kinds = [getattr(found, of).kinds for found in (scaled, plain)]
        differ = {k: kinds[0][k].number - kinds[1][k].number for k in kinds[0]}
        assert differ.pop("multiply") == times * 7 * 512
        assert not any(differ.values())


def notes(**values: Any) -> str:
    return " ".join(from_config(values, "c.json").notes)


@pytest.mark.parametrize(("kind", "names", "said"), [
    ("llama", ["LlamaForSequenceClassification"], True), ("llama", ["LlamaModel"], True),
    ("t5", ["T5EncoderModel"], True), ("bert", ["BertForMaskedLM"], True),
    ("vit", ["ViTForMaskedImageModeling"], True), ("vit", ["ViTModel"], False),
    ("llama", ["LlamaForCausalLM"], False), ("t5", ["T5ForConditionalGeneration"], False),
    ("bert", ["BertModel"], False), ("gpt2", [], False), ("gpt2", None, False),
])  # fmt: skip
def test_a_class_that_is_not_counted_is_named(kind: str, names: Any, said: bool) -> None:
    found = notes(model_type=kind, architectures=names)
    assert ("counted: the class" in found) is said
    assert not said or names[0] in found


@pytest.mark.parametrize(("kind", "more", "said"), [
    ("mistral", {}, True), ("mistral", {"sliding_window": 4096}, True),
    ("mistral", {"sliding_window": None}, False), ("mixtral", {}, False),
    ("mixtral", {"sliding_window": 4096}, True), ("qwen2", {"sliding_window": 4096}, False),
    ("qwen2", {"sliding_window": 4096, "use_sliding_window": True}, True),
    ("qwen2", {"sliding_window": None, "use_sliding_window": True}, False),
])  # fmt: skip
def test_a_window_that_is_not_counted_is_named(kind: str, more: Any, said: bool) -> None:
    assert ("as if no window" in notes(model_type=kind, **more)) is said


@pytest.mark.parametrize(("more", "said"), [
    ({}, False), ({"scale_attn_weights": True}, False), ({"scale_attn_weights": False}, True),
    ({"scale_attn_by_inverse_layer_idx": True}, True),
    ({"scale_attn_by_inverse_layer_idx": False}, False),
])  # fmt: skip
def test_a_scaling_that_is_not_counted_is_named(more: dict[str, Any], said: bool) -> None:
    assert ("scores are scaled once" in notes(model_type="gpt2", **more)) is said


@pytest.mark.parametrize(("more", "expected"), [
    ({"torch_dtype": "float32"}, 4), ({"dtype": "float32"}, 4), ({"dtype": "torch.float32"}, 4),
    ({"torch_dtype": None, "dtype": "float32"}, 4), ({"torch_dtype": "auto"}, 2),
    ({"torch_dtype": "torch.float64", "dtype": "float64"}, 8), ({}, 2),
])  # fmt: skip
def test_bytes_of_a_number(more: dict[str, Any], expected: int) -> None:
    assert from_config({"model_type": "gpt2", **more}, "c.json").bytes == expected


def test_our_own_families() -> None:
    assert total(**ORIGINAL) == 63045632
    assert total(**ORIGINAL, d_k=16, d_v=64) == 63045632 - 18 * 2 * 512 * 8 * 48
    assert total(**ORIGINAL, decoder_layers=2) < total(**ORIGINAL)
    assert total(**PALM) == 62495129600
    assert total(**{**PALM, "norm_parameters": True}) == 62495129600 + 65 * 8192
    gopher = {**PALM, "model_type": "chinchilla", "num_hidden_layers": 80, "head_dim": 128,
              "num_attention_heads": 64, "vocab_size": 32000}  # fmt: skip
    assert total(**gopher) == 70055362560


# ---------------------------------------------------------------------- refused


def refusal(values: Any) -> str:
    with pytest.raises(InputError) as caught:
        from_config(values, "c.json")
    message = str(caught.value)
    assert message.startswith("c.json: ")
    assert "\n" not in message
    return message.removeprefix("c.json: ")


@pytest.mark.parametrize("kind", list(READERS))
@pytest.mark.parametrize("value", [0, -1, 2.0, 2.5, True, False, "12", [12], {}, 1e999])
def test_a_size_is_a_whole_number_from_1(kind: str, value: Any) -> None:
    """Every family reads its widths with the same check."""
    base = {"palm": PALM, "gopher": PALM, "chinchilla": PALM, "transformer": ORIGINAL}
    message = refusal({**base.get(kind, {}), "model_type": kind, "hidden_size": value,
                       "d_model": value, "n_embd": value})  # fmt: skip
    assert "not a whole number, 1 or more" in message


@pytest.mark.parametrize(("values", "part"), [
    ({}, "model_type is missing"),
    ({"model_type": None}, "model_type is missing"),
    ({"model_type": "rwkv"}, 'the model_type "rwkv" is not known; known are transformer'),
    ({"model_type": ["gpt2"]}, "is not known"),
    ({"model_type": "x" * 500}, "..."),
    ({"model_type": "gpt2", "n_head": 7}, "n_head = 7 does not divide n_embd = 768"),
    ({"model_type": "bert", "num_attention_heads": 5}, "does not divide hidden_size = 768"),
    ({"model_type": "opt", "num_attention_heads": 5}, "does not divide hidden_size = 768"),
    ({"model_type": "vit", "num_attention_heads": 5}, "does not divide hidden_size = 768"),
    ({"model_type": "llama", "num_attention_heads": 3}, "does not divide hidden_size = 4096"),
    ({"model_type": "llama", "num_key_value_heads": 3}, "does not divide num_attention_heads"),
    ({**ORIGINAL, "num_heads": 7}, "num_heads = 7 does not divide d_model = 512"),
    ({**ORIGINAL, "shared_embeddings": 4}, "not 1, 2 or 3"),
    ({k: v for k, v in ORIGINAL.items() if k != "d_ff"}, "d_ff is missing, and 'transformer'"),
    ({k: v for k, v in PALM.items() if k != "head_dim"}, "head_dim is missing"),
    ({"model_type": "gpt2", "n_embd": None}, "n_embd is null"),
    ({"model_type": "gpt2", "n_embd": 768, "hidden_size": 64}, "contradict each other"),
    ({"model_type": "gpt2", "tie_word_embeddings": 1}, "not true or false"),
    ({"model_type": "t5", "feed_forward_proj": 3}, "not text"),
    ({"model_type": "gpt2", "add_cross_attention": True}, "is not counted here"),
    ({"model_type": "bert", "position_embedding_type": "relative_key"}, "is not counted here"),
    ({"model_type": "bert", "is_decoder": True}, "is not counted here"),
    ({"model_type": "mixtral", "num_experts_per_tok": 9}, "more than num_local_experts"),
    ({"model_type": "vit", "patch_size": 300}, "more than image_size"),
    ({"model_type": "vit", "image_size": [224, 224]}, "not a whole number"),
    ({"model_type": "llama", "torch_dtype": "int3"}, "torch_dtype is"),
    ({"model_type": "llama", "dtype": ["float16"]}, "dtype is"),
    ({"model_type": "llama", "dtype": "float16", "torch_dtype": "float32"}, "contradict each"),
    ({"model_type": "t5", "feed_forward_proj": ""}, "not of the form relu or gated-gelu"),
    ({"model_type": "t5", "feed_forward_proj": "gated"}, "not of the form"),
    ({"model_type": "t5", "feed_forward_proj": "gated-"}, "not of the form"),
    ({"model_type": "t5", "feed_forward_proj": "a-b"}, "not of the form"),
    ({"model_type": "t5", "feed_forward_proj": "gated-a-b"}, "not of the form"),
    ({"model_type": "t5", "is_gated_act": 1}, "not true or false"),
    ({"model_type": "t5", "feed_forward_proj": "relu", "is_gated_act": True}, "contradict each"),
    ({"model_type": "t5", "tie_encoder_decoder": True}, "is not counted here"),
    ({"model_type": "bert", "pruned_heads": {"0": [1]}}, "is not counted here"),
    ({"model_type": "mistral", "text_config": {"hidden_size": 8}}, "is not counted here"),
    ({"model_type": "mistral", "sliding_window": "4096"}, "not a whole number"),
    ({"model_type": "vit", "architectures": "ViTModel"}, "not a list of names"),
    ({"model_type": "llama", "head_dim": 127}, "rotary positions need pairs"),
    ({"model_type": "mistral", "hidden_size": 160}, "a head is 5 wide"),
    ({**PALM, "head_dim": 255}, "rotary positions need pairs"),
    ({"model_type": "gpt2", "scale_attn_weights": 1}, "not true or false"),
    ({"model_type": "vit", "id2label": ["a"]}, "not an object"),
    ({"model_type": "gpt2", "architectures": [1]}, "not a list of names"),
])  # fmt: skip
def test_what_is_refused(values: dict[str, Any], part: str) -> None:
    assert part in refusal(values)


@pytest.mark.parametrize(("text", "part"), [
    ("", "not JSON"), ("{", "not JSON"), ("[]", "not a JSON object but a list"),
    ("3", "but a number"), ("null", "but null"), ('{"a": NaN}', "NaN is not JSON"),
    ('{"a": -Infinity}', "-Infinity is not JSON"), ('{"a": 1, "a": 1}', "there twice"),
    ('{"a": {"b": 1, "b": 2}}', "there twice"), ("[" * 100000, "nested too deeply"),
    ('{"a": 1' + "0" * 200 + "}", "a number of 201 digits"), ("{'a': 1}", "not JSON"),
    ('{"a": 1}{"b": 2}', "not JSON"), ('{"a": 0x10}', "not JSON"), ('{"a": 1_000}', "not JSON"),
])  # fmt: skip
def test_files_that_are_refused(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read(str(path))
    assert part in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_other_files_that_are_refused(tmp_path: Path) -> None:
    binary, huge = tmp_path / "weights.bin", tmp_path / "huge.json"
    binary.write_bytes(b'{"a": "\xff\xfe"}')
    huge.write_bytes(b" " * (LARGEST_FILE + 1))
    for path, part in ((binary, "not UTF-8"), (huge, "too large"), (tmp_path, "directory"),
                       (tmp_path / "none.json", "No such file")):  # fmt: skip
        with pytest.raises(InputError, match=part):
            read(str(path))
    with pytest.raises(InputError):
        read("a\0b")


def test_a_mark_at_the_start_of_a_file_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"model_type": "gpt2"}).encode())
    assert read(str(path)) == {"model_type": "gpt2"}
