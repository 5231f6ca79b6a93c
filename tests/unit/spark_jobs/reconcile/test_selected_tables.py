"""Events of the selected tables, and the reasons to reject other events."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from pyspark.sql import SparkSession

from sidecar.errors import ConfigError
from spark_jobs.errors import InputError, mapped_error
from spark_jobs.reconcile.selected_tables import SelectedTables, drop_replica_copies, select_tables
from spark_jobs.reconcile.source_table import SourceSchema, read_schema
from spark_jobs.source.events import events, read_cells
from tests.support.spark.recorded import three_copies
from tests.support.spark.records import Record, event_id, frame, headers_of

INVALID_CONTEXT = "has a counter cell that is not a context with a total for each leader"
HITS = "5a1c395e-b41f-11e5-9f22-ba0be0483c18"
ORDERS = "6a1c395e-b41f-11e5-9f22-ba0be0483c18"
OTHER = "00000000-0000-0000-0000-000000000000"
DDL = f"""
CREATE TABLE shop.hits (p int PRIMARY KEY, n counter) WITH ID = {HITS} AND cdc = true;
CREATE TABLE shop.orders (p int PRIMARY KEY, n text) WITH ID = {ORDERS} AND cdc = true;
"""
# One shard of one leader, with the count 60, from docs/reference/event-format.md.
CONTEXT = "AAGAABneb9fYo0kkgAfuPhYuFscABmDL6xJh8AAAAAAAAAA8"
WHOLE = {"whole_counters": ["shop.hits"]}


@pytest.fixture
def schema(tmp_path: Path) -> SourceSchema:
    path = tmp_path / "schema.cql"
    path.write_text(DDL)
    return read_schema(path)


def record(table: str, value: str = "YQ==") -> Record:
    cells = {"kind": "row", "id": table, "pk": "AAAABw==", "token": 1, "ck": "", "ckv": []}
    cells["cell"] = [{"col": "n", "ts": 5, "val": value}]
    headers = headers_of(bytes(12) + bytes.fromhex(table[:8]))
    return Record(headers, orjson.dumps({"cells": cells}), b"{}", "shop.a", 3, 17)


def numbered(records: Sequence[Record]) -> list[Record]:
    """The records with separate offsets and event ids."""
    return [
        replace(each, headers=headers_of(number.to_bytes(16)), offset=number)
        for number, each in enumerate(records)
    ]


def stored(spark: SparkSession, tables: SelectedTables, *records: Record) -> list[str]:
    """The tables of the stored events."""
    return [row["table"] for row in tables.events(events(frame(spark, records))).collect()]


def test_rejected_events_have_reasons(spark: SparkSession, schema: SourceSchema) -> None:
    """Each reason contains the place of its record."""
    rejected = {
        "has no `cells`. ": replace(record(ORDERS), value=b'{"op": "i"}'),
        f"is of a table that {schema.path} does not describe. Describe the schema again; if the "
        "table was dropped, select the others with `tables`.": record(OTHER),
        "is of the counter table shop.hits, whose counts before ": record(HITS, CONTEXT),
    }
    given = numbered([record(ORDERS), *rejected.values()])
    accepted, found = select_tables(schema).split(events(frame(spark, given)))
    assert [row["table"] for row in accepted.collect()] == [ORDERS]
    errors = [row["error"] for row in found.orderBy("place").collect()]
    assert len(errors) == len(rejected)
    for offset, (error, reason) in enumerate(zip(errors, rejected, strict=True), 1):
        assert f"The record shop.a/3/{offset} {reason}" in error


@pytest.mark.parametrize(
    ("rejected", "choices", "message"),
    [
        (replace(record(ORDERS), headers=None), {}, "has no header `cdc.id`. "),
        (record(OTHER), {}, "is of a table that "),
        (record(HITS, "AAGA"), WHOLE, INVALID_CONTEXT),
    ],
    ids=["no headers", "a table that is not described", "a context that is cut"],
)
def test_invalid_record_error_contains_place(
    spark: SparkSession,
    schema: SourceSchema,
    rejected: Record,
    choices: dict[str, Any],
    message: str,
) -> None:
    with pytest.raises(Exception) as raised:
        stored(spark, select_tables(schema, **choices), record(ORDERS), rejected)
    fault = mapped_error(raised.value)
    assert isinstance(fault, InputError), raised.value
    assert str(fault).startswith(f"The record shop.a/3/17 {message}")


def test_whole_counters_are_stored_once_and_unselected_tables_are_skipped(
    spark: SparkSession, schema: SourceSchema
) -> None:
    records = [record(HITS, CONTEXT), record(HITS, CONTEXT), record(ORDERS), record(OTHER)]
    tables = select_tables(schema, ["shop.hits"], **WHOLE)
    assert stored(spark, tables, *records) == [HITS]
    assert sorted(stored(spark, select_tables(schema, **WHOLE), *records[:3])) == [HITS, ORDERS]


def test_table_missing_in_schema_is_an_error(schema: SourceSchema) -> None:
    with pytest.raises(ConfigError, match=r"has no table shop\.a\. Its tables are: shop\.hits"):
        select_tables(schema, ["shop.a"])


# The time of a UUID starts with its last digits.
CREATED_AGAIN = (
    ("00000000-b41f-11e5-9f22-ba0be0483c18", "p.shop.orders", False),
    ("7a1c395e-b41f-11e5-9f22-ba0be0483c18", "p.shop.orders", True),
    ("00000000-b420-11e5-9f22-ba0be0483c18", "p-shop-orders", True),
    ("ffffffff-ffff-11e4-9f22-ba0be0483c18", "p.shop.orders", False),
    ("00000000-0000-11e6-9f22-ba0be0483c18", "p.shop.orders", True),
    ("1b255f4d-ef25-40a6-0000-000000000009", "p.shop.orders", True),
    ("00000000-0000-11e6-9f22-ba0be0483c18", "p.shop.orders_2", False),
    ("00000000-0000-11e6-9f22-ba0be0483c18", "p.other.orders", False),
    (OTHER, "p.shop.orders", False),
)


def test_events_of_earlier_and_later_tables_are_separated(
    spark: SparkSession, schema: SourceSchema
) -> None:
    """Events of an earlier table are skipped; a later table needs another `schema.file`."""
    others = [replace(record(table), topic=topic) for table, topic, _ in CREATED_AGAIN]
    given = numbered([record(ORDERS), *others])
    accepted, rejected = select_tables(schema, ["shop.orders"]).split(events(frame(spark, given)))
    assert [row["table"] for row in accepted.collect()] == [ORDERS]
    found = {row["place"]: row["error"] for row in rejected.collect()}
    assert found.keys() == {
        f"The record {topic}/3/{offset}"
        for offset, (_, topic, is_rejected) in enumerate(CREATED_AGAIN, 1)
        if is_rejected
    }
    for place, error in found.items():
        assert f"{place} is of a table shop.orders that is newer than" in error
        assert "Describe the schema again" in error


CELLS = {"kind": "row", "id": "t", "pk": "aw==", "token": 1, "ck": "", "ckv": []}
NAMED = CELLS | {"cell": [{"col": "cells", "ts": 1, "val": "e30="}]}
ATTEMPTS = [CELLS | {"del": {"ts": 5, "ldt": second}} for second in (7, 8)]
MEMBERS_OF_THE_SAME_NAME: list[Any] = [
    {"cells": {"kind": "row"}},
    {"cells": '"cells":{"kind":"row"}}'},
    {"cells": None, "note": 'a \\ and "cells":'},
]
OTHER_FORMATS = [
    '{"cells" : {"kind":"row"}, "op":"i"}',
    "no JSON",
    '{"op":"i"}',
    '{"after":{"cells":null}}',
    '{"schema":{"name":"a"},"payload":{"op":"i","cells":{"kind":"row"}}}',
]


def text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def copy(number: int, cells: dict[str, Any], *, position: int = 0, after: Any = None) -> Record:
    """The event as the agent writes it at this position."""
    value = text({"source": {"pos": position}, "after": after, "cells": cells})
    headers = headers_of(event_id(number), position=position)
    return Record(headers, value.encode(), offset=9 - position)


def test_only_replica_copies_are_dropped(spark: SparkSession) -> None:
    """Copies differ only in their source; retried statements also differ in local deletion
    times."""
    records = [
        *(copy(1, CELLS, position=at) for at in range(3)),
        *(copy(2, each) for each in ATTEMPTS * 2),
        Record(headers_of(event_id(3)), None),
        *(copy(10 + at, NAMED, after=each) for at, each in enumerate(MEMBERS_OF_THE_SAME_NAME)),
        *(
            Record(headers_of(event_id(20 + at)), each.encode())
            for at, each in enumerate(OTHER_FORMATS)
        ),
    ]
    found = drop_replica_copies(events(frame(spark, records)))
    assert sorted((row["value"], row["offset"]) for row in found.collect()) == sorted(
        [
            (text({"cells": CELLS}), 7),
            *((text({"cells": each}), 9) for each in ATTEMPTS),
            *[(text({"cells": NAMED}), 9)] * len(MEMBERS_OF_THE_SAME_NAME),
            *((each, 0) for each in OTHER_FORMATS),
        ]
    )


def test_dropping_replica_copies_preserves_events(spark: SparkSession) -> None:
    records = three_copies(["5.0/three-nodes"])
    all_events = events(frame(spark, records))
    ours = read_cells(drop_replica_copies(all_events)).collect()
    assert len(ours) < len(records) / 2
    assert set(ours) == set(read_cells(all_events).collect())
