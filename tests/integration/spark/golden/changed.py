"""Checks published changes: each follows the previous one, and folded they yield the table."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from tests.support.servers.kafka import KafkaRecord

_ORDER = ("store_version", "second", "seq")
_MAX_SHOWN = 5


def folded(
    changes: DataFrame, columns: Sequence[str], former: Mapping[str, str] | None = None
) -> DataFrame:
    """Rows after all changes, with these columns. `former` contains former names of keys: the last
    change of a row may be older than the new name."""
    last = F.max_by(F.struct("op", "after"), F.struct(*_ORDER)).alias("last")
    rows = changes.groupBy("cdc_row_id").agg(last).where(F.col("last.op") != "d")
    after = F.col("last")["after"]
    values = {name: after[name] for name in columns}
    for name, earlier in (former or {}).items():
        values[name] = F.coalesce(after[name], after[earlier])
    return rows.select(*(value.alias(name) for name, value in values.items()))


def wrong_changes(name: str, changes: DataFrame, columns: Sequence[str]) -> Iterator[str]:
    """Each change occurs once, changes something, and begins with the result of the last one.
    `columns` are the present columns of the table without its key. After a schema change, a change
    has only these columns, and may have other names of keys."""
    before, after = _text("before", columns), _text("after", columns)
    last = F.lag(after).over(Window.partitionBy("cdc_row_id").orderBy(*_ORDER))
    found = changes.select("*", before.alias("_before"), after.alias("_after"), last.alias("_last"))
    is_new = F.col("_before").isNull()
    op = F.when(F.col("_after").isNull(), "d").when(is_new, "c").otherwise("u")
    has_op = (F.col("op") == op) | ((F.col("op") == "r") & is_new & F.col("_after").isNotNull())
    follows = F.col("_before").eqNullSafe(F.col("_last"))
    # In all columns, including those that are dropped now.
    is_nothing = F.to_json("before").eqNullSafe(F.to_json("after"))
    wrong = found.where(~follows | ~has_op | is_nothing)
    for row in wrong.select("op", "_last", "_before", "_after").limit(_MAX_SHOWN).collect():
        yield f"{name}: {row.op} of {row._before} to {row._after}, and the row was {row._last}"
    for row in changes.groupBy("id").count().where("count > 1").limit(_MAX_SHOWN).collect():
        yield f"{name}: the change {bytes(row.id).hex()} comes {row['count']} times"


def wrong_messages(
    name: str, records: Sequence[KafkaRecord], changes: DataFrame, partition_keys: int, keys: int
) -> Iterator[str]:
    """The topic contains the changes of the Delta table: each once, those of a key in order. The
    numbers are the number of columns of the partition key and of the primary key."""
    sent = Counter(_id(record) for record in records if record.value is not None)
    stored = Counter(bytes(row.id) for row in changes.select("id").collect())
    if sent != stored:
        missing, more = (stored - sent).total(), (sent - stored).total()
        yield f"{name}: the topic lacks {missing} changes of the table and has {more} others"
    for values in _by_row(records).values():
        yield from (f"{name}: {problem}" for problem in _wrong_order(values))
    for key in {record.key or b"{}" for record in records}:
        named = list(orjson.loads(key).values())
        # A row with only static values has no clustering.
        if len(named) != keys or None in named[:partition_keys]:
            yield f"{name}: the key {key!r} lacks columns"


def _by_row(records: Sequence[KafkaRecord]) -> Mapping[str, list[bytes | None]]:
    """The values of each row in order. After a new name of a column of the key, its messages have
    another key, and so another partition."""
    by_key: defaultdict[bytes, list[bytes | None]] = defaultdict(list)
    for record in records:
        by_key[record.key or b"{}"].append(record.value)
    by_row: defaultdict[str, list[list[bytes | None]]] = defaultdict(list)
    for key, values in by_key.items():
        by_row[repr([*orjson.loads(key).values()])].append(values)
    return {
        row: [value for values in sorted(found, key=_first) for value in values]
        for row, found in by_row.items()
    }


def _first(values: Sequence[bytes | None]) -> list[int]:
    """Position of the first event: version of the store, second, number."""
    sequence = orjson.loads(values[0] or b"{}")["source"]["sequence"]
    return list(map(int, orjson.loads(sequence)))


def _wrong_order(values: Sequence[bytes | None]) -> Iterator[str]:
    last: dict[str, Any] | None = None
    was_deleted = False
    for value in values:
        if value is None:
            if not was_deleted:
                yield "a tombstone follows no deletion"
            was_deleted = False
            continue
        if was_deleted:
            yield "no tombstone follows a deletion"
        event = orjson.loads(value)
        before = event["before"]
        if not _is_same(before, last):
            yield f"{before} follows {last}"
        last = event["after"]
        was_deleted = event["op"] == "d"
    if was_deleted:
        yield "no tombstone follows the last deletion"


def _is_same(row: dict[str, Any] | None, other: dict[str, Any] | None) -> bool:
    """Whether rows have equal values. A schema change removes columns and adds others."""
    if row is None or other is None:
        return row is other
    names = row.keys() & other.keys()
    return all(_without_nulls(row[name]) == _without_nulls(other[name]) for name in names)


def _without_nulls(value: Any) -> Any:
    """Value without null fields of user types, which schema changes add. Maps contain no nulls."""
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    return value


def _text(side: str, columns: Sequence[str]) -> Column:
    """Values as text, because Spark does not compare maps; null for a missing row."""
    values = (F.col(side)[name].alias(name) for name in columns)
    row = F.struct(*values, F.lit(True).alias("is_row"))
    return F.when(F.col(side).isNotNull(), F.to_json(row, {"ignoreNullFields": "false"}))


def _id(record: KafkaRecord) -> bytes:
    return dict(record.headers)["cdc.id"]
