"""Tests find every proof anew, and leave the user's folders alone."""

import gc
import os
from tempfile import TemporaryDirectory

_STATE = TemporaryDirectory(prefix="derive-tests-")  # of this process, removed at its end
os.environ["DERIVE_STORE"] = "off"
os.environ["XDG_STATE_HOME"] = _STATE.name
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # tests run beside one another already
gc.set_threshold(200_000, 20, 20)  # terms are kept for good: looking for garbage finds none


def pytest_addoption(parser):
    parser.addoption(
        "--all-steps",
        action="store_true",
        help="alter every field of every step of every proof log, instead of a sample of steps",
    )
    parser.addoption(
        "--coq", action="store_true", help="let Coq compile and audit proofs, which takes a minute"
    )
    parser.addoption(
        "--report-page",
        metavar="FILE",
        help="a report.html for the tests in a browser, instead of a small one",
    )
