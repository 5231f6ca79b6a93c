"""Conditions of published tables. Pure."""

from collections.abc import Iterator

from agent.check.node import check_tables
from agent.check.publication import Publication
from sidecar.check.finding import Level
from sidecar.health import Condition, State


def publication_conditions(publication: Publication | None) -> Iterator[Condition]:
    """No published table, and list entries without a match; `publication` is None while unknown."""
    if publication is None:
        return
    for found in check_tables(publication):
        if found.level is Level.FAULT:
            yield Condition(found.code, State.DEGRADED, "schema", found.message, found.remedy)
