import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(20240611)


def pytest_terminal_summary(terminalreporter):
    """What the comparison with PyTorch has found, test by test."""
    rows = [
        (report.nodeid.partition("::")[2], *errors)
        for report in terminalreporter.getreports("passed")
        for name, errors in report.user_properties
        if name == "error against PyTorch"
    ]
    if rows:
        terminalreporter.section("errors against PyTorch: of the output, of all gradients")
        for test, output, gradients in sorted(rows):
            terminalreporter.write_line(f"{output:9.1e} {gradients:9.1e}  {test}")
        largest = (max(row[column] for row in rows) for column in (1, 2))
        terminalreporter.write_line("{:9.1e} {:9.1e}  largest".format(*largest))
