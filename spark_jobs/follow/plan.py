"""Positions in a version store, and plans for reading a table between two positions. Pure."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from spark_jobs.reconcile.store import Commit

MAX_TOUCHED_ROWS = 5_000_000
"""Maximum number of new events whose keys are broadcast to every task. Above it, a scan and a
shuffle of the whole table cost less."""


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A version of the store, and the second at which its rows are evaluated.

    `store_version` is a version of the store's Delta table, `second` is in seconds since 1970.
    """

    store_version: int
    second: int

    def __str__(self) -> str:
        return f"version {self.store_version} at second {self.second}"


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """The rows of a table to read.

    `stored`: the rows at the earlier position: none (first fill), only touched keys, or all.
    `has_new`: whether commits in between added events.
    """

    stored: Literal["none", "touched", "all"]
    has_new: bool
    touched_rows: float = math.inf
    """The maximum number of touched keys."""


def plan_read(
    table_id: str,
    before: Position | None,
    after: Position,
    commits: Iterable[Commit],
    *,
    has_due: bool,
) -> ReadPlan | None:
    """The plan for a table; None if the table cannot have changed.

    `commits` must include all commits after `before` up to `after`. `has_due`: whether a value
    expires in between.
    """
    if before is None:
        return ReadPlan("none", has_new=True)
    new_rows = 0
    has_new = is_truncated = False
    for commit in commits:
        if before.store_version < commit.version <= after.store_version:
            has_new |= commit.kind != "truncate" and table_id in commit.rows
            is_truncated |= commit.kind == "truncate" and table_id in commit.rows
            new_rows += commit.rows.get(table_id, 0)
    if is_truncated or new_rows > MAX_TOUCHED_ROWS:
        return ReadPlan("all", has_new)
    if has_new or has_due:
        return ReadPlan("touched", has_new, math.inf if has_due else new_rows)
    return None
