"""The events of selected tables, and the reasons to reject others."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from pyspark.sql import SparkSession

from sidecar.errors import ConfigError
from spark_jobs.error_mapping import mapped_error
from spark_jobs.errors import InputError
from spark_jobs.reconcile.selected_tables import SelectedTables, select_tables
from spark_jobs.reconcile.source_table import SourceSchema, read_schema
from spark_jobs.source.events import events
from tests.support.spark.records import Record, frame, headers_of

INVALID_CONTEXT = "has a counter cell that is not a context with a total for each leader"
HITS = "5a1c395e-b41f-11e5-9f22-ba0be0483c18"
ORDERS = "6a1c395e-b41f-11e5-9f22-ba0be0483c18"
OTHER = "00000000-0000-0000-0000-000000000000"
DDL = f"""
CREATE TABLE shop.hits (p int PRIMARY KEY, n counter) WITH ID = {HITS} AND cdc = true;
CREATE TABLE shop.orders (p int PRIMARY KEY, n text) WITH ID = {ORDERS} AND cdc = true;
"""
# One shard of 60 of one leader, as docs/reference/event-format.md shows it.
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


def stored(spark: SparkSession, tables: SelectedTables, *records: Record) -> list[str]:
    """The tables of the events that the store gets."""
    return [row["table"] for row in tables.events(events(frame(spark, records))).collect()]


@pytest.mark.parametrize(
    ("rejected", "choices", "message"),
    [
        pytest.param(
            replace(record(ORDERS), value=b'{"op": "i"}'),
            {},
            "The record shop.a/3/17 has no `cells`. ",
            id="no cells",
        ),
        pytest.param(
            record(OTHER),
            {},
            "The record shop.a/3/17 is of a table that {path} does not describe. Describe the "
            "schema again; if the table was dropped, select the others with `tables`.",
            id="a table that is not described",
        ),
        pytest.param(
            replace(record(ORDERS), headers=None),
            {},
            "The record shop.a/3/17 has no header `cdc.id`. ",
            id="no headers",
        ),
        pytest.param(
            record(HITS, CONTEXT),
            {},
            "The record shop.a/3/17 is of the counter table shop.hits, whose counts before ",
            id="a counter table without its earlier counts",
        ),
        pytest.param(
            record(HITS, "AAGA"),
            WHOLE,
            f"The record shop.a/3/17 {INVALID_CONTEXT}",
            id="a context that is cut",
        ),
    ],
)
def test_an_invalid_record_is_an_error_with_its_place(
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
    assert str(fault).startswith(message.format(path=schema.path))


def test_whole_counters_are_stored_once_and_unselected_tables_are_skipped(
    spark: SparkSession, schema: SourceSchema
) -> None:
    records = [record(HITS, CONTEXT), record(HITS, CONTEXT), record(ORDERS), record(OTHER)]
    tables = select_tables(schema, ["shop.hits"], **WHOLE)
    assert stored(spark, tables, *records) == [HITS]
    assert sorted(stored(spark, select_tables(schema, **WHOLE), *records[:3])) == [HITS, ORDERS]


def test_an_undescribed_table_is_an_error(schema: SourceSchema) -> None:
    with pytest.raises(ConfigError, match=r"describes no table shop\.a\. It describes shop\.hits"):
        select_tables(schema, ["shop.a"])


@pytest.mark.parametrize(
    ("table", "topic", "is_rejected"),
    [
        # The time of a UUID begins with its last digits.
        ("00000000-b41f-11e5-9f22-ba0be0483c18", "p.shop.orders", False),
        ("7a1c395e-b41f-11e5-9f22-ba0be0483c18", "p.shop.orders", True),
        ("00000000-b420-11e5-9f22-ba0be0483c18", "p-shop-orders", True),
        ("ffffffff-ffff-11e4-9f22-ba0be0483c18", "p.shop.orders", False),
        ("00000000-0000-11e6-9f22-ba0be0483c18", "p.shop.orders", True),
        ("1b255f4d-ef25-40a6-0000-000000000009", "p.shop.orders", True),
        ("00000000-0000-11e6-9f22-ba0be0483c18", "p.shop.orders_2", False),
        ("00000000-0000-11e6-9f22-ba0be0483c18", "p.other.orders", False),
        (OTHER, "p.shop.orders", False),
    ],
)
def test_a_table_that_was_created_again(
    spark: SparkSession, schema: SourceSchema, table: str, topic: str, is_rejected: bool
) -> None:
    """Events of an earlier one are skipped; a later one needs another `schema.file`."""
    selected = select_tables(schema, ["shop.orders"])
    found = [record(ORDERS), replace(record(table), topic=topic)]
    if not is_rejected:
        assert stored(spark, selected, *found) == [ORDERS]
        return
    with pytest.raises(Exception, match="was created after") as caught:
        stored(spark, selected, *found)
    error = mapped_error(caught.value)
    assert isinstance(error, InputError)
    assert f"The record {topic}/3/17 is of a table shop.orders" in str(error)
    assert "Describe the schema again" in str(error)
