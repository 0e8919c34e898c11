"""The families against Hugging Face's models and PyTorch's own counter of operations.

Parameters: models are built from their configuration on the meta device, which holds no numbers,
and every tensor is compared.  Operations: small models are run under PyTorch's counter, forward and
backward.  Nothing is downloaded.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from derive.count import closed
from derive.count.counting import Count, count
from derive.count.models import from_config

pytest.importorskip("torch", reason="needs torch: pip install '.[torch]'")
pytest.importorskip("transformers", reason="needs transformers: pip install '.[torch]'")
pytestmark = pytest.mark.filterwarnings("ignore")  # those of the two libraries

import torch  # noqa: E402
import transformers  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

#: The class that has the head of the family, by model type.
CLASSES = {
    "gpt2": "GPT2LMHeadModel", "openai-gpt": "OpenAIGPTLMHeadModel", "bert": "BertModel",
    "opt": "OPTForCausalLM", "t5": "T5ForConditionalGeneration",
    "mt5": "MT5ForConditionalGeneration", "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM", "mixtral": "MixtralForCausalLM", "qwen2": "Qwen2ForCausalLM",
    "vit": "ViTForImageClassification",
}  # fmt: skip
SMALL_LLAMA = {"hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 6,
               "num_key_value_heads": 2, "intermediate_size": 17, "vocab_size": 37}  # fmt: skip
SMALL_GPT = {"n_embd": 24, "n_layer": 3, "n_head": 4, "vocab_size": 37, "n_positions": 19}
SMALL_OPT = {"hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4, "ffn_dim": 17,
             "vocab_size": 37, "max_position_embeddings": 19, "word_embed_proj_dim": 24,
             "pad_token_id": 1}  # fmt: skip
SMALL_T5 = {"d_model": 24, "d_kv": 5, "d_ff": 17, "num_layers": 3, "num_decoder_layers": 2,
            "num_heads": 4, "vocab_size": 37, "relative_attention_num_buckets": 9}  # fmt: skip
SMALL_BERT = {"hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4,
              "intermediate_size": 17, "vocab_size": 37, "max_position_embeddings": 19,
              "type_vocab_size": 3}  # fmt: skip
SMALL_VIT = {"hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4,
             "intermediate_size": 17, "image_size": 20, "patch_size": 5, "num_channels": 2,
             "num_labels": 7}  # fmt: skip
SMALL = (
    ("gpt2", {**SMALL_GPT, "n_inner": 17}), ("openai-gpt", SMALL_GPT), ("bert", SMALL_BERT),
    ("opt", SMALL_OPT),
    ("opt", {**SMALL_OPT, "word_embed_proj_dim": 7, "do_layer_norm_before": False}),
    ("opt", {**SMALL_OPT, "enable_bias": False, "layer_norm_elementwise_affine": False}),
    ("t5", SMALL_T5), ("t5", {**SMALL_T5, "feed_forward_proj": "gated-gelu"}), ("mt5", SMALL_T5),
    ("t5", {**SMALL_T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}),
    ("llama", SMALL_LLAMA),
    ("llama", {**SMALL_LLAMA, "head_dim": 10, "attention_bias": True, "mlp_bias": True,
               "tie_word_embeddings": True}),
    ("mistral", SMALL_LLAMA), ("qwen2", SMALL_LLAMA),
    ("mixtral", {**SMALL_LLAMA, "num_local_experts": 5, "num_experts_per_tok": 2}),
    ("vit", SMALL_VIT), ("vit", {**SMALL_VIT, "qkv_bias": False}),
)  # fmt: skip
#: The sizes of models in the wild; the library's defaults are those of the smallest published ones.
LARGE = (
    *((kind, {}) for kind in CLASSES),
    ("gpt2", {"n_embd": 1600, "n_layer": 48, "n_head": 25}),
    ("bert", {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
              "intermediate_size": 4096}),
    ("opt", {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
             "ffn_dim": 4096, "word_embed_proj_dim": 512, "do_layer_norm_before": False}),
    ("t5", {"d_model": 1024, "d_kv": 128, "d_ff": 65536, "num_layers": 24, "num_heads": 128}),
    ("t5", {"d_model": 4096, "d_ff": 10240, "num_layers": 24, "num_heads": 64,
            "feed_forward_proj": "gated-gelu"}),
    ("llama", {"hidden_size": 16384, "intermediate_size": 53248, "num_hidden_layers": 126,
               "num_attention_heads": 128, "num_key_value_heads": 8, "vocab_size": 128256}),
    ("vit", {"hidden_size": 1280, "num_hidden_layers": 32, "num_attention_heads": 16,
             "intermediate_size": 5120, "patch_size": 14, "num_labels": 1000}),
)  # fmt: skip


def config_of(kind: str, changes: dict[str, Any]) -> Any:
    return transformers.AutoConfig.for_model(
        kind, **changes, attn_implementation="eager", experts_implementation="eager"
    )


def ours(config: Any, **lengths: int) -> Count:
    """The count of the file that the library would write."""
    return count(from_config(json.loads(config.to_json_string()), "config.json"), lengths)


def built(config: Any, device: str) -> Any:
    with torch.device(device):
        model = getattr(transformers, CLASSES[config.model_type])(config)
    model.tie_weights()
    return model


# ---------------------------------------------------------------------- parameters

Shapes = Counter[tuple[int, ...]]


def theirs(model: Any) -> Shapes:
    """The shapes of all parameters, each once, with joined ones taken apart."""
    found: Shapes = Counter()
    for name, parameter in model.named_parameters():  # what is shared comes once
        for piece in taken_apart(name, parameter):
            found[form(piece.shape)] += 1
    return found


def taken_apart(name: str, parameter: Any) -> Iterator[Any]:
    """Queries, keys and values in one tensor; the experts of a layer in one tensor."""
    if "c_attn" in name or "in_proj" in name:
        yield from parameter.chunk(3, dim=-1 if "c_attn" in name else 0)
    elif "experts.gate_up_proj" in name:
        yield from (half for expert in parameter for half in expert.chunk(2, dim=0))
    elif "experts.down_proj" in name:
        yield from parameter
    else:
        yield parameter


def form(shape: Any) -> tuple[int, ...]:
    """A shape but for the order of its sides."""
    return tuple(sorted(int(side) for side in shape if side != 1))


def listed(found: Count) -> Shapes:
    """The shapes of all tensors of our list, in all their copies."""
    shapes: Shapes = Counter()
    for t in found.architecture.weights:
        sides, copies = ([int(closed.value(x, found.values)) for x in axes]
                         for axes in (t.shape, t.copies))  # fmt: skip
        number = 1
        for c in copies:
            number *= c
        shapes[form(sides)] += number
    return shapes


@pytest.mark.parametrize(("kind", "changes"), [*SMALL, *LARGE])
def test_parameter_by_parameter(kind: str, changes: dict[str, Any]) -> None:
    config = config_of(kind, changes)
    model, found = built(config, "meta"), ours(config)
    assert listed(found) == theirs(model)
    assert found.total.number == sum(p.numel() for p in model.parameters())


def test_a_head_of_its_own_as_checkpoints_store_it() -> None:
    """The library ties T5's head whenever it builds a model, whatever the configuration says."""
    sizes = {**SMALL_T5, "feed_forward_proj": "gated-gelu"}
    model = built(config_of("t5", sizes), "meta")
    model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.lm_head.weight))
    untied = {"model_type": "t5", **sizes, "tie_word_embeddings": False}
    assert listed(count(from_config(untied, "config.json"))) == theirs(model)


def test_every_model_type_of_the_library_is_compared() -> None:
    from derive.count.models import READERS

    without = {"transformer", "palm", "gopher", "chinchilla"}
    assert set(CLASSES) == set(READERS) - without


@pytest.mark.parametrize(("kind", "changes"), [("bert", SMALL_BERT), ("vit", SMALL_VIT)])
def test_a_tensor_more_is_noticed(kind: str, changes: dict[str, Any]) -> None:
    config = config_of(kind, changes)
    model = built(config, "meta")
    model.register_parameter("extra", torch.nn.Parameter(torch.empty(24, device="meta")))
    assert listed(ours(config)) != theirs(model)


def test_a_vision_model_with_a_pooler() -> None:
    config = config_of("vit", {**SMALL_VIT, "architectures": ["ViTModel"]})
    with torch.device("meta"):
        model = transformers.ViTModel(config)
    assert listed(ours(config)) == theirs(model)


def test_the_original_architecture() -> None:
    """PyTorch's own, which has biases in attention and a norm at the end of each stack."""
    sizes = {"d_model": 24, "num_heads": 4, "d_ff": 17, "encoder_layers": 3, "decoder_layers": 2}
    found = count(from_config(
        {"model_type": "transformer", **sizes, "vocab_size": 37, "attention_bias": True,
         "final_norm": True}, "config.json",
    ))  # fmt: skip
    with torch.device("meta"):
        model = torch.nn.Transformer(24, 4, 3, 2, 17, batch_first=True)
        model.register_module("words", torch.nn.Embedding(37, 24))
    assert listed(found) == theirs(model)


# ---------------------------------------------------------------------- operations

#: Tokens, and tokens of the source, both unlike any other size.
N, M = 11, 13


def inputs_of(config: Any) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(1)

    def words(length: int) -> Any:
        return torch.randint(2, 37, (1, length), generator=generator)

    if config.model_type == "vit":
        size = config.image_size
        return {"pixel_values": torch.rand(1, config.num_channels, size, size)}
    if config.model_type in ("t5", "mt5"):
        return {"input_ids": words(M), "decoder_input_ids": words(N)}
    return {"input_ids": words(N)}


def lengths_of(config: Any) -> dict[str, int]:
    if config.model_type == "vit":
        return {}
    return {"n": N, "m": M} if config.model_type in ("t5", "mt5") else {"n": N}


def flops(counter: FlopCounterMode) -> int:
    """All but the angles of rotary positions, which are a table to us."""
    tables = sum(
        sum(found.values())
        for name, found in counter.get_flop_counts().items()
        if name.endswith("rotary_emb")
    )
    return counter.get_total_flops() - tables


@pytest.mark.parametrize(("kind", "changes"), SMALL)
def test_operations_forward_and_backward(kind: str, changes: dict[str, Any]) -> None:
    config = config_of(kind, changes)
    model, inputs, found = (
        built(config, "cpu"),
        inputs_of(config),
        ours(config, **lengths_of(config)),
    )
    with FlopCounterMode(display=False) as forward:
        output = model(**inputs)
    assert flops(forward) == found.forward.leading.number
    result = output.pooler_output if kind == "bert" else output.logits
    with FlopCounterMode(display=False) as backward:
        result.sum().backward()
    assert flops(forward) + flops(backward) == found.training.leading.number


def test_half_of_the_operations_are_noticed() -> None:
    """The comparison is with operations, not with multiplications."""
    config = config_of("gpt2", SMALL_GPT)
    found = ours(config, n=N)
    with FlopCounterMode(display=False) as forward:
        built(config, "cpu")(**inputs_of(config))
    products = found.forward.leading.number // 2
    assert flops(forward) != products
    assert products < found.forward.kinds["multiply"].number
