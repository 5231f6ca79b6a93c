"""Counts of what dump lines hold: a comparison says nothing about what was not there."""

from collections import Counter
from collections.abc import Iterable

from tests.support.events.expected_events import Json

KINDS = (
    *("updates", "updates of several in a mutation", "view updates", "counter updates", "rows"),
    *("static rows", "partition deletions", "row deletions", "shadowable deletions"),
    *("bounds", "boundaries", "complex deletions", "cells", "live", "expiring", "tombstone"),
    *("cells with a path", "empty values", "expiring liveness", "no liveness"),
    *("null clustering", "more than 32 clusterings", "more than 64 columns", "extreme times"),
    "expiry behind 2038",
)
"""What every long run has to meet."""

_FAR_S = 0x7FFFFFFF


def content_of(lines: Iterable[Json], views: set[str], counters: set[str]) -> Counter[str]:
    """Counts by `KINDS`; `views` and `counters` are ids of tables."""
    found: Counter[str] = Counter()
    for line in lines:
        found["updates"] += 1
        found["updates of several in a mutation"] += line["updates"] > 1
        found["view updates"] += line["id"] in views
        found["counter updates"] += line["id"] in counters
        found["partition deletions"] += line["del"] is not None
        if line["static"]:
            found["static rows"] += 1
            _row(found, line["static"])
        for item in line["items"]:
            found["more than 32 clusterings"] += len(item["ck"]) > 32
            found["null clustering"] += None in item["ck"]
            if item["t"] == "row":
                found["rows"] += 1
                found["no liveness"] += item["live"] is None
                _row(found, item)
            else:
                found["bounds" if item["t"] == "bound" else "boundaries"] += 1
    return found


def _row(found: Counter[str], row: Json) -> None:
    if row["del"]:
        found["row deletions"] += 1
        found["shadowable deletions"] += row["del"].get("shadowable", False)
    if row["live"]:
        found["expiring liveness"] += row["live"]["ttl"] is not None
    found["complex deletions"] += len(row["cdel"])
    found["cells"] += len(row["cells"])
    found["more than 64 columns"] += len({cell["col"] for cell in row["cells"]}) > 64
    for cell in row["cells"]:
        found[cell["kind"]] += 1
        found["cells with a path"] += cell["path"] is not None
        found["empty values"] += cell["val"] == ""
        found["extreme times"] += not 0 < cell["ts"] < 1 << 52
        found["expiry behind 2038"] += cell["kind"] == "expiring" and cell["ldt"] > _FAR_S
