"""Only what this very user's program has written, for this very state of it, is read again."""

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from derive import sealed

STATE = "0123456789abcdef" * 2
CONTENTS = b"kept\ncontents"


@pytest.fixture(autouse=True)
def key(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "derive-transformer" / "key"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache" / f"{STATE}.thing"


def test_what_was_written_is_read(path):
    assert sealed.read(path) is None
    sealed.write(path, CONTENTS)
    assert sealed.read(path) == CONTENTS
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "text", [b"", b"{", b"x\n[]", b"\n" + CONTENTS, b"0" * 64 + b"\n" + CONTENTS]
)
def test_anything_else_is_not(path, text):
    sealed.write(path, CONTENTS)
    path.write_bytes(text)
    assert sealed.read(path) is None


def test_every_byte_counts(path):
    sealed.write(path, CONTENTS)
    whole = path.read_bytes()
    for k in range(len(whole)):
        path.write_bytes(whole[:k] + bytes([whole[k] ^ 1]) + whole[k + 1 :])
        assert sealed.read(path) is None, k
    path.write_bytes(whole[:-1])
    assert sealed.read(path) is None


def test_the_name_counts(path):
    sealed.write(path, CONTENTS)
    for name in ("f" * 32 + ".thing", f"{STATE}.other"):
        assert sealed.read(path.rename(path.with_name(name)).rename(path)) == CONTENTS
        (path.parent / name).write_bytes(path.read_bytes())
        assert sealed.read(path.parent / name) is None


def test_the_key_counts(path, key):
    sealed.write(path, CONTENTS)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert len(key.read_bytes()) == 32
    for other in (bytes(32), b"", b"short"):
        key.write_bytes(other)
        assert sealed.read(path) is None
    sealed.write(path, CONTENTS)
    assert sealed.read(path) == CONTENTS, "a damaged key is made anew"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_nothing_is_written_without_a_key_or_a_folder(path, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    sealed.write(tmp_path / "file" / path.name, CONTENTS)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    sealed.write(path, CONTENTS)
    assert not path.exists()
    assert (tmp_path / "file").read_text() == ""


def test_other_states_go_and_files_of_the_user_stay(path):
    path.parent.mkdir()
    older = path.with_name("f" * 32 + ".thing")
    mine = [path.with_name(name) for name in ("chapter.thing", f"{STATE}.md", "f" * 31 + ".thing")]
    for file in (older, *mine):
        file.write_text("thesis")
    sealed.write(path, CONTENTS)
    assert not older.exists()
    assert all(file.read_text() == "thesis" for file in mine)


def test_nothing_is_kept_of_sources_that_change_meanwhile(path, tmp_path, monkeypatch):
    """What was computed may be of the state before, or after."""
    source = tmp_path / "derive" / "claims" / "one.py"
    source.parent.mkdir(parents=True)
    source.write_text("")
    (tmp_path / "derive" / "__init__.py").write_text("")
    spec = type("Spec", (), {"origin": str(tmp_path / "derive" / "__init__.py")})
    monkeypatch.setattr(sealed, "find_spec", lambda _: spec)
    monkeypatch.setattr(sealed, "_START", time.time_ns())
    sealed.write(path, CONTENTS)
    assert not path.exists()
    monkeypatch.setattr(sealed, "_START", time.time_ns() + 10**9)
    sealed.write(path, CONTENTS)
    assert sealed.read(path) == CONTENTS
    os.utime(source, ns=(0, 0))  # the time of the change cannot be put back
    monkeypatch.setattr(sealed, "_START", source.stat().st_ctime_ns)
    path.unlink()
    sealed.write(path, CONTENTS)
    assert not path.exists()


ORPHANS = """
import multiprocessing, os, sys, time
from derive.children import end_with_parent

def work(sender):
    end_with_parent()
    sender.send(os.getpid())
    sender.send("x" * 10_000_000)  # waits for a reader

context = multiprocessing.get_context("fork")
receiver, sender = context.Pipe(duplex=False)
process = context.Process(target=work, args=(sender,))
process.start()
print(receiver.recv(), flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_children_end_with_their_parent():
    parent = subprocess.Popen([sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE, text=True)
    with parent:
        child = int(parent.stdout.readline())
        assert is_running(child)
        parent.kill()
    for _ in range(200):
        if not is_running(child):
            return
        time.sleep(0.05)
    os.kill(child, 9)
    pytest.fail("the child has outlived its parent")


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
