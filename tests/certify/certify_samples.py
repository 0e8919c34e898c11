"""Claims whose logs the tests print and replay: sums, deltas, orders, functions, expectations."""

from functools import cache
from typing import Any

from derive.catalogue import all_claims
from derive.verify import settle

TOPICS = ("head-width/*", "relu/*", "softmax/*", "expansion/*")


@cache
def logs() -> tuple[tuple[str, str, tuple[Any, ...]], ...]:
    """(id, statement, logs) of the claims of some topics."""
    found = []
    for claim in all_claims(TOPICS):
        settled = settle(claim)
        if settled.logs:
            found.append((claim.id, settled.result.statement, tuple(settled.logs)))
    return tuple(found)
