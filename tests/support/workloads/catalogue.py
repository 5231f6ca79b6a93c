"""The workloads by name."""

from collections.abc import Callable

from tests.support.workloads import (
    batches,
    collections,
    constraints,
    counters,
    deletions,
    large,
    mixed,
    timestamps,
    transactions,
    ttl,
    types,
    views,
    wide,
)
from tests.support.workloads.random_statements import build as build_random
from tests.support.workloads.scenario import Release, Scenario

SCENARIOS: dict[str, Callable[[Release, int], Scenario]] = {
    "types": types.build,
    "collections": collections.build,
    "deletions": deletions.build,
    "ttl": ttl.build,
    "ttl_longest": ttl.build_longest,
    "timestamps": timestamps.build,
    "wide": wide.build,
    "batches": batches.build,
    "transactions": transactions.build,
    "counters": counters.build,
    "views": views.build,
    "large": large.build,
    "random": build_random,
    "mixed": mixed.build,
    "constraints": constraints.build,
}


def scenario(name: str, release: Release, seed: int = 1) -> Scenario:
    """The workload for a release: what it does not have (vectors before 5.0 …) is left out."""
    return SCENARIOS[name](release, seed)
