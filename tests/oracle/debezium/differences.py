"""Cases in which the peer is wrong, each with the reason."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from tests.oracle.debezium.comparison import Mend


def _sorted_bounds(value: Any) -> Any:
    """Columns of a bound in one order."""
    after = dict(value["after"])
    for side in ("_range_start", "_range_end"):
        if after[side]:
            values = sorted(after[side]["values"], key=lambda column: str(column["name"]))
            after[side] = {**after[side], "values": values}
    return {**value, "after": after}


def _sorted_arrays(value: Any) -> Any:
    """Elements of arrays in one order."""
    if isinstance(value, dict):
        return {name: _sorted_arrays(member) for name, member in value.items()}
    if isinstance(value, list):
        return sorted((_sorted_arrays(member) for member in value), key=json.dumps)
    return value


@dataclass(frozen=True, slots=True)
class Flaw:
    """Flaw of the peer, and the cases that prove it (names, `*` for any text). `mend` makes both
    sides equal, if the flaw keeps enough data to do so."""

    title: str
    reason: str
    cases: Sequence[str]
    mend: Mend | None = None


FLAWS = (
    Flaw(
        "A row deleted and written in one mutation",
        "The row deletion is sent. The write of the same mutation is lost, although it is newer "
        "and remains in the table.",
        (
            "row delete and reinsert in one batch, two timestamps",
            "row delete and update in one batch",
        ),
    ),
    Flaw(
        "A range and a row inside it",
        "The range deletion is sent after the row that it does not delete. A consumer that applies "
        "events in order deletes the row.",
        ("range delete and insert inside the range in one batch",),
    ),
    Flaw(
        "Static columns",
        "Writes to static columns are never read: nothing is sent for them. A row that is written "
        "with them shows them as untouched.",
        (
            "static column update",
            "static column and row in one insert",
            "static column delete",
            "static list",
        ),
    ),
    Flaw(
        "Row deletions beside static columns",
        "The deletion of one row appears to delete the static columns, although they belong to the "
        "whole partition and remain.",
        ("row delete beside a static column", "static column with a row delete in one batch"),
    ),
    Flaw(
        "Elements removed from lists and sets",
        "A removed element of a set looks like an added one, and a removed element of a list like "
        "an added empty one.",
        ("list element delete", "list element removed by value", "set remove"),
    ),
    Flaw(
        "Keys removed from maps of texts",
        "The removed key is sent with an empty text, like an added one.",
        ("map of int keys, key delete",),
    ),
    Flaw(
        "The order of a bound's columns",
        "With several clustering columns, the values of a bound have the order of a hash table. "
        "The meaning of a bound depends on their order.",
        (
            "many clusterings*, prefix of [3-7]",
            "many clusterings*range of c_timestamp",
            "many clusterings*range of c_uuid",
            "many clusterings*range of c_decimal",
            "many clusterings*range of c_date",
            "many clusterings*range of c_boolean",
            "many clusterings*range of c_blob",
            "mixed-case names in ranges",
        ),
        _sorted_bounds,
    ),
    Flaw(
        "The order of a set",
        "Elements of some sets come in the order of a hash table, which is not that of the set.",
        ("set of tuple", "set of varint"),
        _sorted_arrays,
    ),
    Flaw(
        "Ranges that meet",
        "The marker between two ranges is unknown: reading the segment ends with an error, and the "
        "rest of the segment is lost.",
        (
            "adjoining ranges with two timestamps in one batch",
            "adjoining ranges, the first one inclusive",
            "adjoining ranges, DESC",
            "a range inside another",
        ),
    ),
    Flaw(
        "User types that are not frozen",
        "Any write to such a column ends the reading of the segment with an error, and the rest of "
        "the segment is lost.",
        (
            "user type that is not frozen, insert",
            "user type that is not frozen, one field",
            "user type that is not frozen, deleted",
        ),
    ),
    Flaw(
        "Empty values",
        "CQL allows an empty value for most types. For these types it ends the reading of the "
        "segment with an error, and the rest of the segment is lost.",
        (
            "decimal empty",
            "inet empty",
            "timestamp empty",
            "timeuuid empty",
            "uuid empty",
            "varint empty",
            "uuid clustering, empty",
        ),
    ),
    Flaw(
        "Sets inside a frozen collection",
        "The value cannot be converted to a message, and the process ends. After a restart it ends "
        "again.",
        ("frozen list of sets", "frozen set of sets", "frozen map of sets"),
    ),
    Flaw(
        "Vectors",
        "The connector's driver cannot parse the type. Once any table has a vector column, a "
        "starting connector publishes nothing of any table. It still removes the segments and "
        "reports itself as healthy.",
        ("vector", "any table once a table with a vector exists"),
    ),
)


@cache
def flaw_of(case: str) -> Flaw | None:
    """Flaw of the peer's events of a case; None if they are right."""
    for flaw in FLAWS:
        if any(fnmatchcase(case, pattern) for pattern in flaw.cases):
            return flaw
    return None
