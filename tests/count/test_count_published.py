"""Published totals: what is exact, what rounds, what does not match, and why."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from derive.cli import main
from derive.count.published import Status, answers, fitting_vocabulary, reason, status

ANSWERS = {a.id: a for a in answers()}
EXACT, ROUNDS, DIFFERS = Status.EXACT, Status.ROUNDS, Status.DIFFERS
ORIGINAL = "Attention Is All You Need"


@pytest.mark.parametrize(("name", "number", "expected"), [
    (f"{ORIGINAL}/A h=4", 63045632, DIFFERS), (f"{ORIGINAL}/A h=16", 63045632, DIFFERS),
    (f"{ORIGINAL}/C N=2", 33644544, DIFFERS), (f"{ORIGINAL}/C d_ff=1024", 50450432, DIFFERS),
    (f"{ORIGINAL}/C d_ff=4096", 88236032, DIFFERS), (f"{ORIGINAL}/big", 214171648, DIFFERS),
    (f"{ORIGINAL}/base less C N=2", 29401088, ROUNDS),
    (f"{ORIGINAL}/base less C N=4", 14700544, ROUNDS),
    (f"{ORIGINAL}/C N=8 less base", 14700544, ROUNDS),
    (f"{ORIGINAL}/C d_ff=4096 less base", 25190400, ROUNDS),
    (f"{ORIGINAL}/base less C d_ff=1024", 12595200, ROUNDS),
    (f"{ORIGINAL}/base less B d_k=16", 7077888, ROUNDS),
    (f"{ORIGINAL}/base less B d_k=32", 4718592, ROUNDS),
    (f"{ORIGINAL}/one vocabulary", 0, DIFFERS),
    ("BERT/base, uncased", 109482240, EXACT), ("BERT/base, cased", 108310272, EXACT),
    ("BERT/base, multilingual cased", 177853440, EXACT), ("BERT/base, Chinese", 102267648, EXACT),
    ("BERT/small, uncased", 28763648, EXACT), ("BERT/medium, uncased", 41373184, EXACT),
    ("GPT/GPT-1", 116534784, ROUNDS), ("GPT-2/small", 124439808, EXACT),
    ("GPT-2/xl", 1557611200, EXACT), ("GPT-2/Japanese medium", 324426752, EXACT),
    ("GPT-2/first name of small", 124439808, DIFFERS),
    ("GPT-2/small, position table left out", 123653376, EXACT),
    ("GPT-3/Small", 125226240, ROUNDS), ("GPT-3/Large", 760300032, ROUNDS),
    ("GPT-3/XL", 1315723264, ROUNDS), ("GPT-3/175B", 174604259328, DIFFERS),
    ("T5/small, untied", 76956160, EXACT), ("T5/large, untied", 770567168, EXACT),
    ("T5/Small, rounded", 60506624, DIFFERS), ("T5/Base, rounded", 222903552, ROUNDS),
    ("T5/Large, rounded", 770567168, ROUNDS), ("T5/3B, rounded", 2851598336, DIFFERS),
    ("T5/11B, rounded", 11307321344, ROUNDS), ("LLaMA/7B", 6738415616, ROUNDS),
    ("LLaMA/13B", 13015864320, ROUNDS), ("LLaMA/65B", 65285660672, DIFFERS),
    ("Llama 2/70B", 68976648192, DIFFERS), ("Llama 3/8B", 8030261248, EXACT),
    ("Llama 3/70B", 70553706496, DIFFERS), ("LLaMA/stories, 15M", 24407712, EXACT),
    ("LLaMA/stories, 42M", 58073600, EXACT), ("LLaMA/stories, 110M", 134105856, EXACT),
    ("OPT/350M", 331196416, DIFFERS), ("Gopher/117M", 116588544, ROUNDS),
    ("Gopher/417M", 417202176, ROUNDS), ("Gopher/1.4B", 1374158848, ROUNDS),
    ("PaLM/62B", 62495129600, ROUNDS), ("ViT/B/16", 86567656, EXACT),
    ("ViT/L/16", 304326632, EXACT), ("ViT/L/32", 306535400, EXACT),
    ("operations/20B-class run", 51058940313600000000000, ROUNDS),
    ("operations/20B-class run, embedding", 566231040000000000000, ROUNDS),
    ("operations/20B-class run, queries, keys and values", 11958799564800000000000, ROUNDS),
    ("operations/GPT-3 175B, six per parameter and token", 314287666790400000000000, ROUNDS),
])  # fmt: skip
def test_a_published_total(name: str, number: int, expected: Status) -> None:
    assert (ANSWERS[name].number, ANSWERS[name].status) == (number, expected)


def test_there_are_no_two_rows_of_one_name() -> None:
    assert len(ANSWERS) == len(answers())


@pytest.mark.parametrize(("name", "numbers"), [
    ("T5/Small, rounded", [60506624, 76956160]), ("T5/Large, rounded", [737668096, 770567168]),
    ("OPT/350M", [331196416, 355889152]), ("GPT-3/XL", [1315723264, 1517123584]),
    ("Gopher/117M", [116588544, 109510656]), ("Gopher/417M", [417202176, 388890624]),
    ("LLaMA/stories, 15M", [24407712, 15191712]), ("LLaMA/stories, 42M", [58073600, 41689600]),
    ("LLaMA/stories, 110M", [134105856, 109529856]),
])  # fmt: skip
def test_a_row_that_can_be_read_in_two_ways(name: str, numbers: list[int]) -> None:
    assert [r.number for r in ANSWERS[name].readings] == numbers


@pytest.mark.parametrize(("name", "part"), [
    ("LLaMA/65B", "cut off, not rounded"), ("T5/3B, rounded", "cut off, not rounded"),
    ("GPT-2/first name of small", "declared it wrong"), ("Gopher/1.4B", "with the matrices"),
    ("GPT-3/XL", "attention of the width d_model = 2048"), ("GPT-3/175B", "to 4 digits"),
    (f"{ORIGINAL}/A h=4", "a vocabulary of 39,841 to 41,793"),
    (f"{ORIGINAL}/one vocabulary", "all rows but big: 41,004 to 41,208"),
    (f"{ORIGINAL}/one vocabulary", "big: 35,368 to 36,344"),
])  # fmt: skip
def test_the_reason_is_named(name: str, part: str) -> None:
    assert any(part in why for why in ANSWERS[name].reasons)


def test_every_row_says_what_was_counted() -> None:
    assert all(a.conventions for a in ANSWERS.values())
    assert all(a.reasons for a in ANSWERS.values() if a.status is DIFFERS)


def test_vocabularies_fit_up_to_the_last_one() -> None:
    """At the ends of the range the total rounds to the printed value; one step on it does not."""
    for name in ("base", "C N=2", "C d=256", "big"):
        found = ANSWERS[f"{ORIGINAL}/{name}"]
        count = found.readings[0].count
        low, high = fitting_vocabulary(count, found.printed)
        width = count.values[next(x for x in count.values if x.data[0] == "d_model")]
        words = count.values[next(x for x in count.values if x.data[0] == "V")]

        def at(vocabulary: int, base=count.total.number, words=words, width=width) -> int:
            return base + (vocabulary - words) * width

        inside = {status(at(v), found.printed) for v in (low, high)}
        outside = {status(at(v), found.printed) for v in (low - 1, high + 1)}
        assert (inside, outside) == ({ROUNDS}, {DIFFERS})


@pytest.mark.parametrize(("number", "printed", "expected"), [
    (65, "65", EXACT), (66, "65", DIFFERS), (64500000, "65e6", ROUNDS),
    (64499999, "65e6", DIFFERS), (65500000, "65e6", DIFFERS), (65499999, "65e6", ROUNDS),
    (6749999999, "6.7e9", ROUNDS), (6750000000, "6.7e9", DIFFERS), (13049999999, "13.0e9", ROUNDS),
    (12949999999, "13.0e9", DIFFERS), (222903552, "22e7", ROUNDS), (222903552, "220e6", DIFFERS),
])  # fmt: skip
def test_rounding_is_to_the_last_printed_digit(number: int, printed: str, expected: Status) -> None:
    assert status(number, printed) is expected


def test_a_reason_is_given_only_where_there_is_one() -> None:
    assert reason(6738415616, "6.7e9") == ""
    assert "cut off" in reason(65285660672, "65.2e9")
    assert "6.9e+10" in reason(68976648192, "70e9")
    assert Decimal("6.9e+10") < Decimal("70e9")


def test_the_table_is_printed(capsys) -> None:
    assert main(["count", "--published"]) == 0
    out = capsys.readouterr().out
    assert "124,439,808" in out
    assert f"{len(ANSWERS)} published numbers" in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_the_table_as_json(capsys) -> None:
    assert main(["count", "--published", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == 1
    assert found["summary"]["rows"] == len(found["rows"]) == len(ANSWERS)
    assert sum(found["summary"][s] for s in Status) == len(ANSWERS)
    (row,) = (r for r in found["rows"] if r["id"] == "GPT-2/small")
    assert (row["exact"], row["status"], row["published"]) == (124439808, "exact", "124,439,808")
