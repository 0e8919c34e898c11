"""`derive count` as a program: what it prints, its JSON, its errors."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from derive.cli import main

ROOT = Path(__file__).resolve().parents[2]
LLAMA = {"model_type": "llama", "torch_dtype": "float16", "max_position_embeddings": 4096}


def written(tmp_path: Path, **values: Any) -> str:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    return str(path)


def printed(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(["count", *args]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_json(capsys, tmp_path) -> None:
    out = printed(capsys, written(tmp_path, model_type="gpt2"), "--json", "-")
    found = json.loads(out)
    assert out.isascii()
    assert found["schema"] == 1
    assert found["model_type"] == "gpt2"
    assert found["total"] == found["active"] == sum(found["components"].values()) == 124439808
    assert found["total"] == sum(t["parameters"] for t in found["tensors"])
    assert found["components"]["feed-forward"] == 56669184
    assert found["ffn_share"] == 56669184 / 124439808
    assert found["ffn_share_exact"] == "73788/162031"
    assert found["kv_cache_bytes_per_token"] == 2 * 2 * 12 * 768
    assert any(c.startswith("biases: ") for c in found["conventions"])
    assert found["closed_forms"]["components"]["attention"].startswith("L")
    assert found["closed_forms"]["ffn_share"].startswith(r"\frac")


def test_operations_in_json(capsys, tmp_path) -> None:
    """2 n (12 L d^2 + V d) + 4 L n^2 d, three times as much for a training step."""
    config = written(tmp_path, model_type="gpt2")
    flops = json.loads(printed(capsys, config, "--set", "n=10", "--json", "-"))["flops"]
    leading = 2 * 10 * (12 * 12 * 768**2 + 50257 * 768) + 4 * 12 * 10**2 * 768
    assert flops["lengths"] == {"n": 10}
    assert flops["forward"]["per_sequence"]["leading"] == leading
    assert flops["forward"]["per_token"]["leading"] == leading // 10
    assert flops["training"]["per_sequence"]["leading"] == 3 * leading
    forward = flops["forward"]["per_sequence"]
    assert forward["exponential"] == 12 * 12 * 10 * 10
    assert flops["training"]["per_token"]["leading"] == 3 * leading // 10
    kinds = [v for k, v in forward.items() if k not in ("total", "leading")]
    assert forward["total"] == sum(kinds)


def test_operations_per_token_are_exact(capsys, tmp_path) -> None:
    """Counted by hand: a layer of width 2 with one head and a network of width 3, 3 tokens."""
    config = written(tmp_path, model_type="gpt2", n_embd=2, n_head=1, n_layer=1, n_positions=3,
                     vocab_size=5, n_inner=3)  # fmt: skip
    found = json.loads(printed(capsys, config, "--json", "-"))
    forward, training = found["flops"]["forward"], found["flops"]["training"]
    assert forward["per_sequence"] == {
        "multiply": 36 + 48 + 18 + 9 + 18 + 36 + 30,  # norms, projections, scores, ..., head
        "add": 6 + 45 + 24 + 24 + 9 + 6 + 12 + 12 + 18 + 18 + 15,
        "subtract": 18, "divide": 36 + 9, "exponential": 9, "root": 9, "activation": 9,
        "total": 474, "leading": 2 * (48 + 18 + 18 + 36 + 30),
    }  # fmt: skip
    assert forward["per_token"]["total"] == 158
    assert training["per_sequence"]["add"] == 499
    assert training["per_token"]["add"] == "499/3"
    forms = found["closed_forms"]["operations"]
    assert forms["forward"]["exponential"] == forms["training"]["exponential"] == r"n^{2}\,L\,h"


def test_text(capsys, tmp_path) -> None:
    out = printed(capsys, written(tmp_path, **LLAMA), "--set", "n=2048", "--set", "bytes=4")
    assert "6,738,415,616" in out
    assert "1,048,576       bytes per token" in out
    assert "4 bytes for a number (as set)" in out
    assert "2 bytes for a number (float16, as the" in printed(capsys, written(tmp_path, **LLAMA))
    assert "Feed-forward share" in out
    assert "n = 2048" in out
    assert "Derivation" not in out
    assert "not in the configuration" in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_explain(capsys, tmp_path) -> None:
    out = printed(capsys, written(tmp_path, model_type="gpt2"), "--explain")
    assert "Derivation" in out
    assert "= 12 (4 · 768² + 4 · 768)" in out
    assert "= 28,348,416" in out
    assert "L of d_model × d_ff" in out
    assert "forward, additions\n    = L (4n d_model² + 2n² d_model + 2n d_model d_ff - n h" in out
    assert "training step, exponentials\n    = n² L h\n" in out
    assert "subtractions\n    = 2n L d_model + n d_model\n" in out
    assert "closed forms" not in printed(capsys, written(tmp_path, model_type="gpt2"))
    assert all(len(line) <= 80 for line in out.splitlines())


def test_the_example_of_the_readme_is_what_is_printed(capsys, tmp_path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = (
        b for b in re.findall(r"```text\n(.*?)```", text, flags=re.S) if "feed-forward  " in b
    )
    assert example in printed(capsys, written(tmp_path, model_type="gpt2"), "--explain")


def test_explain_in_json(capsys, tmp_path) -> None:
    config = written(tmp_path, model_type="gpt2")
    found = json.loads(printed(capsys, config, "--json", "-", "--explain"))
    steps = {step["component"]: step for step in found["derivation"]}
    assert {name: step["number"] for name, step in steps.items()} == {
        **found["components"], "total": found["total"],
    }  # fmt: skip
    assert "12" in steps["attention"]["inserted"]
    assert "derivation" not in json.loads(printed(capsys, config, "--json", "-"))


@pytest.mark.parametrize("kind", ["bert", "opt", "t5", "mixtral", "vit", "openai-gpt"])
def test_every_family_prints(capsys, tmp_path, kind) -> None:
    out = printed(capsys, written(tmp_path, model_type=kind), "--explain")
    assert all(len(line) <= 80 for line in out.splitlines())
    assert ("none, every token sees all others" in out) is (kind in ("bert", "vit"))
    assert ("used by one token" in out) is (kind == "mixtral")
    assert ("cache for cross-attention" in out) is (kind == "t5")


def test_json_goes_to_a_file_beside_the_text(capsys, tmp_path) -> None:
    config, out = written(tmp_path, model_type="gpt2"), tmp_path / "out.json"
    assert "124,439,808" in printed(capsys, config, "--json", str(out))
    assert json.loads(out.read_text())["total"] == 124439808


def test_counting_loads_no_sympy_and_no_numpy(tmp_path) -> None:
    code = (
        "import sys; from derive.cli import main; main(sys.argv[1:]);"
        "sys.exit(any(m in sys.modules for m in ('sympy', 'numpy')))"
    )
    config = written(tmp_path, model_type="gpt2")
    done = subprocess.run([sys.executable, "-c", code, "count", config, "--explain"], cwd=ROOT,
                          capture_output=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_without_unicode(tmp_path) -> None:
    config = written(tmp_path, model_type="gpt2")
    done = subprocess.run(
        [sys.executable, "-m", "derive", "count", config, "--explain"], cwd=ROOT,
        capture_output=True, check=False, env={"PYTHONIOENCODING": "ascii", "PATH": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


# ---------------------------------------------------------------------- errors


def refused(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(["count", *args]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("derive: ")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize(("args", "part"), [
    ([], "CONFIG.json"), (["CONFIG", "--published"], "not allowed with"),
    (["CONFIG", "--set", "n"], "--set: 'n' is not of the form n=2048"),
    (["CONFIG", "--set", "n=0"], "not of the form"), (["CONFIG", "--set", "n=1.5"], "not of"),
    (["CONFIG", "--set", "n=-3"], "not of"), (["CONFIG", "--set", "n=٣"], "not of"),
    (["CONFIG", "--set", "n=1e3"], "not of"), (["CONFIG", "--set", "n=1" + "0" * 40], "not of"),
    (["CONFIG", "--set", "n=\n5"], "not of"),
    (["CONFIG", "--set", "n=2", "--set", "n=3"], "n is set twice"),
    (["CONFIG", "--set", "m=2"], "gpt2 has no length m; it has n"),
    (["CONFIG", "--set", "=2"], "has no length"),
    (["CONFIG", "--set", "n=1025"], "the table of positions ends at 1024"),
    (["CONFIG", "--json"], "expected one argument"), (["CONFIG", "--quick"], "--quick"),
    (["CONFIG", "--json", "/"], "is not the name of a file"), (["none.json"], "none.json"),
    (["--published", "--explain"], "belong to a configuration"),
    (["--published", "--set", "n=3"], "belong to a configuration"),
])  # fmt: skip
def test_usage(capsys, tmp_path, args, part) -> None:
    config = written(tmp_path, model_type="gpt2")
    assert part in refused(capsys, *(config if a == "CONFIG" else a for a in args))


def test_experts_without_a_token(capsys, tmp_path) -> None:
    """An expert with no token has no sum over its tokens, and not one of -1 additions."""
    config = written(tmp_path, model_type="mixtral", num_local_experts=7, num_experts_per_tok=2)
    message = refused(capsys, config, "--set", "n=3")
    assert "n = 3 leaves some of 7 experts without a token" in message
    assert "the smallest is n = 4" in message
    flops = json.loads(printed(capsys, config, "--set", "n=4", "--json", "-"))["flops"]
    forward, training = (flops[x]["per_sequence"]["add"] for x in ("forward", "training"))
    assert training > 2 * forward


def test_a_refused_configuration_writes_nothing(capsys, tmp_path) -> None:
    out = tmp_path / "out.json"
    refused(capsys, written(tmp_path, model_type="rwkv"), "--json", str(out))
    assert not out.exists()


def test_the_length_of_an_image_is_not_chosen(capsys, tmp_path) -> None:
    config = written(tmp_path, model_type="vit")
    assert "vit has no length n; it has no length" in refused(capsys, config, "--set", "n=5")
