"""Helpers of the kernel's tests (`mutate`) are of use for the logs of claims, too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "kernel"))
