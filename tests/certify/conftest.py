"""Tests that need Coq run where ``--coq`` is given, as the pipeline does."""

import pytest

from derive.certify import check
from derive.certify.project import Project, write


@pytest.fixture(scope="session")
def library(tmp_path_factory, request):
    """A folder with the compiled hand-written part."""
    if not request.config.getoption("--coq"):
        pytest.skip("Coq is not asked for")
    out = tmp_path_factory.mktemp("coq")
    write(Project(), out)
    check.prepare(out)
    return out
