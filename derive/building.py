"""What the build of the package adds to it: the proofs of its claims.

Finding them takes several times as long as replaying them, so it is done once, where the package is
built, with the very files that are going to be installed.  `derive verify` replays the logs, as it
does with those of the user's own folder.  Where they cannot be found (SymPy or NumPy is missing),
the package is built without them, and its first run finds them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from setuptools.command.build_py import build_py

_LONGEST_SECONDS = 900
#: Proofs are kept only by a program whose sources were there some time before it started.
_PAUSE_SECONDS = 0.5


class BuildPy(build_py):
    """Copies the sources and puts the proofs beside them, but not into a checkout."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        folder = Path(self.build_lib).resolve()
        shutil.rmtree(folder / "derive" / "proofs", ignore_errors=True)
        why = add_proofs(folder)
        if why:
            print(f"built without proofs, which the first run will find: {why}", file=sys.stderr)


def add_proofs(folder: Path) -> str:
    """Prove the claims of the package in `folder` and keep the logs in it; why not, if not."""
    time.sleep(_PAUSE_SECONDS)
    with tempfile.TemporaryDirectory() as scratch:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                filter(None, [str(folder), os.environ.get("PYTHONPATH", "")])
            ),
            "PYTHONDONTWRITEBYTECODE": "1",
            "DERIVE_STORE": scratch,
            "XDG_STATE_HOME": scratch,
        }
        command = [sys.executable, "-m", "derive", "verify", "--no-twins", "--json", "-"]
        try:
            done = subprocess.run(
                command, cwd=scratch, env=environment, timeout=_LONGEST_SECONDS,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if done.returncode:
            return "".join(done.stderr.decode(errors="replace").strip().splitlines()[-1:])
        for found in Path(scratch).glob("*.proofs"):
            _, _, contents = found.read_bytes().partition(b"\n")  # the seal is another user's
            place = folder / "derive" / "proofs" / found.name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(contents)
            return ""
        return "no proofs were kept"
