"""Most of the other workloads one after the other, for releases that are recorded once."""

from tests.support.workloads import (
    batches,
    collections,
    counters,
    deletions,
    timestamps,
    transactions,
    ttl,
    types,
    wide,
)
from tests.support.workloads.scenario import Release, Scenario


def build(release: Release, seed: int) -> Scenario:
    """The recorded workload."""
    modules = (
        types,
        collections,
        deletions,
        ttl,
        timestamps,
        wide,
        batches,
        transactions,
        counters,
    )
    parts = [module.build(release, seed) for module in modules]
    return Scenario(
        "mixed",
        tuple(statement for part in parts for statement in part.schema),
        tuple(statement for part in parts for statement in part.statements),
    )
