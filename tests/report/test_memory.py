"""What is kept of formulas changes no byte, and does no harm where it cannot be read or written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import report_samples as samples

from derive import sealed
from derive.report import formulas, mathml, memory, write_report
from derive.report.memory import kept, remembered


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """What other tests have learnt is put aside."""
    before = {name: dict(table) for name, table in memory._TABLES.items()}
    for table in memory._TABLES.values():
        table.clear()
    yield
    for name, table in memory._TABLES.items():
        table.update(before.get(name, {}))


def written(tmp_path: Path, name: str, keep_in: Path | None) -> list[str]:
    paths = write_report(samples.ALL, tmp_path / name, settings={}, keep_in=keep_in)
    return [path.read_text("utf-8") for path in paths]


def forget() -> None:
    for table in memory._TABLES.values():
        table.clear()


def test_a_report_from_what_is_kept_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "kept"
    plain = written(tmp_path, "plain", None)
    forget()
    assert written(tmp_path, "first", folder) == plain
    forget()

    def broken(*_: object) -> None:
        raise AssertionError("taken apart again")

    for module in (formulas, mathml):
        monkeypatch.setattr(module, "read", broken)
    assert written(tmp_path, "second", folder) == plain
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("content", ["", "[]", "{", '{"a": 1}', '{"a": {"b": 1.5}}'])
def test_a_file_of_another_form_is_not_taken(content: str, tmp_path: Path) -> None:
    with kept(tmp_path):
        formulas.fits("x = y", 10.0)
    (path,) = tmp_path.iterdir()
    path.write_text(content)
    forget()
    with kept(tmp_path):
        assert formulas.fits("x = y", 10.0)
    assert json.loads(sealed.read(path) or b"{}")


def test_old_files_go_and_others_stay(tmp_path: Path) -> None:
    (tmp_path / f"{'f' * 32}.formulas").write_text("{}")
    (tmp_path / "x.proofs").write_text("{}")
    with kept(tmp_path):
        mathml.displayed("x + y")
    left = sorted(path.name for path in tmp_path.iterdir())
    assert len(left) == 2
    assert "x.proofs" in left
    assert f"{'f' * 32}.formulas" not in left


def test_a_folder_that_cannot_be_written_to_keeps_nothing(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    alone = mathml.displayed("x + y")
    with kept(blocked / "folder"):
        assert mathml.displayed("x + y") == alone
    assert [*tmp_path.iterdir()] == [blocked]
    assert blocked.read_text() == ""


def test_values_come_back_as_they_were(tmp_path: Path) -> None:
    calls = []

    @remembered
    def parts(text: str, room: float = 1.0) -> tuple[str, bool] | None:
        calls.append((text, room))
        return (text, room > 1) if text else None

    for _ in range(2):
        with kept(tmp_path):
            assert parts("a") == ("a", False)
            assert parts("a", 2.0) == ("a", True)
            assert parts("") is None
        forget()
    assert calls == [("a", 1.0), ("a", 2.0), ("", 1.0)]
