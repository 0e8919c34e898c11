"""The text of proof logs: what is packed comes back, here and in Coq (with ``--coq``)."""

from __future__ import annotations

import random
import re
import zlib

import pytest

from derive.certify import check
from derive.certify.packed import characters, number, numbers


def contents(seed: int) -> dict[str, bytes]:
    """Bytes for which zlib makes different kinds of blocks."""
    rng = random.Random(seed)
    noise = bytes(rng.randrange(256) for _ in range(3000))
    return {
        "nothing": b"",
        "one": b"a",
        "fixed code": b"abcabcabcabc",
        "stored": noise,
        "a long repetition": b"ab" * 40_000,
        "codes of its own": bytes(rng.choice(b"aaaaaabbbcdefgh") for _ in range(9000)),
        "several blocks": bytes(rng.choice(b"aaabc") for _ in range(40_000)) + noise + noise[:900],
    }


def unpacked(text: str) -> bytes:
    """By the library: eleven characters, in turn from the end, are the digits of nine bytes."""
    packed = b""
    for k in range(0, len(text), 11):
        n = 0
        for c in reversed(text[k : k + 11]):
            n = 94 * n + ("! " + "".join(map(chr, range(35, 127)))).index(c)
        packed += n.to_bytes(9, "little")
    return zlib.decompressobj(wbits=-15).decompress(packed)


@pytest.mark.parametrize("name", sorted(contents(0)))
def test_texts_come_back(name: str) -> None:
    text = characters(contents(0)[name])
    assert len(text) % 11 == 0
    assert set(text) <= {*map(chr, range(32, 127))} - {'"'}
    assert unpacked(text) == contents(0)[name]


def test_parts_with_codes_of_their_own_come_back_together() -> None:
    made = contents(2)
    assert unpacked(characters(*made.values())) == b"".join(made.values())


def test_numbers_come_back() -> None:
    chosen = [*range(14_000), 10**30, 192 * 64**4 - 1, 192 * 64**4]
    found, high = [], 0
    for byte in numbers(chosen):
        if byte < 192:
            found.append(192 * high + byte)
        high = 0 if byte < 192 else 64 * high + byte - 192
    assert found == chosen
    assert number(191) == bytes([191])
    assert number(192) == bytes([193, 0])


def test_coq_unpacks_what_zlib_packs(library) -> None:
    made = contents(1)
    lines = [
        "Require Import NArith List. Import ListNotations. From Derive Require Import Text.",
        "Open Scope N_scope.",
        "Definition told (l : list N) := fold_left (fun a x => (31 * a + x + 1) mod 1000003) l 0.",
    ]
    made["all, one after another"] = b"".join(made.values())
    *each, _ = made.values()
    for k, text in enumerate([*map(characters, each), characters(*each)]):
        cut = [text[i : i + 2000] for i in range(0, len(text), 2000)]
        blobs = ";".join(f'"{part}"%blob' for part in cut)
        lines.append(f"Definition t{k} := [{blobs}].")
        lines.append(f"Eval vm_compute in told (inflate (bits (flat_map unblob t{k}))).")
    text = characters(numbers([7, 191, 192, 99_999]))
    lines.append(f'Eval vm_compute in told (concat (text_of ["{text}"%blob])).')
    (library / "Trial.v").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (answer,) = check._compile(library, ["Trial"])
    wanted = [*map(_told, made.values()), _told([7, 191, 192, 99_999])]
    assert list(map(int, re.findall(r"= (\d+)", answer))) == wanted


def _told(found) -> int:
    a = 0
    for x in found:
        a = (31 * a + x + 1) % 1_000_003
    return a
