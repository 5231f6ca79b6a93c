"""The workloads by name.

Those of recordings are the statements beside their segments (`statements.cql.gz`): change them
there, and record them again. Others are made.
"""

import gzip
from collections.abc import Callable
from functools import partial
from itertools import takewhile
from pathlib import Path

from tests.support.workloads import large, types
from tests.support.workloads.random_statements import build as build_random
from tests.support.workloads.scenario import Release, Scenario

_FIXTURES = Path(__file__).parents[2] / "fixtures"
_RECORDED = {
    "collections": "5.0/collections",
    "deletions": "5.0/deletions",
    "ttl": "5.0/ttl",
    "ttl_longest": "5.0-none/ttl",
    "timestamps": "5.0/timestamps",
    "wide": "5.0/wide",
    "batches": "5.0/batches",
    "transactions": "5.0/transactions",
    "counters": "5.0/counters",
    "views": "5.0/views",
    "constraints": "6.0/constraints",
}
_MIXED = (
    *("collections", "deletions", "ttl", "timestamps", "wide", "batches", "transactions"),
    "counters",
)


def _recorded(name: str, release: Release, seed: int) -> Scenario:
    packed = (_FIXTURES / _RECORDED[name] / "statements.cql.gz").read_bytes()
    statements = gzip.decompress(packed).decode().removesuffix(";\n").split(";\n")
    schema = tuple(takewhile(lambda statement: statement.startswith("CREATE"), statements))
    return Scenario(name, schema, tuple(statements[len(schema) :]))


def _mixed(release: Release, seed: int) -> Scenario:
    """Most of the other workloads one after the other, for releases that are recorded once."""
    parts = [types.build(release, seed), *(_recorded(name, release, seed) for name in _MIXED)]
    return Scenario(
        "mixed",
        tuple(statement for part in parts for statement in part.schema),
        tuple(statement for part in parts for statement in part.statements),
    )


SCENARIOS: dict[str, Callable[[Release, int], Scenario]] = {
    "types": types.build,
    **{name: partial(_recorded, name) for name in _RECORDED},
    "large": large.build,
    "random": build_random,
    "mixed": _mixed,
}


def scenario(name: str, release: Release, seed: int = 1) -> Scenario:
    """The workload for a release: what it does not have (vectors before 5.0 …) is left out."""
    return SCENARIOS[name](release, seed)
