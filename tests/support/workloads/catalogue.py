"""The workloads by name.

Most are the statements beside their recorded segments (`statements.cql.gz`): change them there, and
record them again. `random` is made.
"""

import gzip
import re
from collections.abc import Callable
from functools import partial
from itertools import takewhile
from pathlib import Path

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
    "large": "5.0/large",
    # Most of the others one after the other, for releases that are recorded once.
    "mixed": "3.11/mixed",
}


def _recorded(name: str, release: Release, seed: int) -> Scenario:
    return _of(name, _statements(_RECORDED[name]))


def _types(release: Release, seed: int) -> Scenario:
    """Every CQL type of the release as regular, static, clustering (ascending and descending) and
    partition key."""
    if release < (4, 0):
        found = re.compile(r'\btypes\b|"MixedCase"').search
        return _of("types", list(filter(found, _statements("3.11/mixed"))))
    return _of("types", _statements("4.0/types" if release < (5, 0) else "5.0/types"))


def _statements(folder: str) -> list[str]:
    """The statements, of which literals may have the end of a statement in them."""
    packed = (_FIXTURES / folder / "statements.cql.gz").read_bytes()
    found = [""]
    for part in gzip.decompress(packed).decode().removesuffix(";\n").split(";\n"):
        found[-1] += part
        if found[-1].count("'") % 2:
            found[-1] += ";\n"
        else:
            found.append("")
    return found[:-1]


def _of(name: str, statements: list[str]) -> Scenario:
    schema = tuple(takewhile(lambda statement: statement.startswith("CREATE"), statements))
    return Scenario(name, schema, tuple(statements[len(schema) :]))


SCENARIOS: dict[str, Callable[[Release, int], Scenario]] = {
    "types": _types,
    **{name: partial(_recorded, name) for name in _RECORDED},
    "random": build_random,
}


def scenario(name: str, release: Release, seed: int = 1) -> Scenario:
    """The workload for a release: what it does not have (vectors before 5.0 …) is left out."""
    return SCENARIOS[name](release, seed)
