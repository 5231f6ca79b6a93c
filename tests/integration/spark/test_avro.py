"""The jobs with topics in Avro."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import commitlog
from spark_jobs.dedupe.options import DedupeOptions
from spark_jobs.dedupe.replica_copies import dedupe
from spark_jobs.error_mapping import mapped_error
from spark_jobs.errors import InputError
from spark_jobs.reconcile.job import reconcile
from spark_jobs.reconcile.selected_tables import select_tables
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.source.events import events
from tests.oracle.reference.recordings import OWN, Scenario
from tests.support.avro.reading import Ids, messages
from tests.support.avro.tables import DDL, format_of, inserted
from tests.support.segments.segment_reading import schema_of, unpacked
from tests.support.spark.dedupe_stream import DedupeStream
from tests.support.spark.records import Record, frame

RECORDING = OWN / "5.0" / "three-nodes"
NODES = ("node1", "node2", "node3")
MOST = 200
"""Segments of each node."""


def recorded(folder: Path, node: str, place: Path) -> list[Record]:
    """The records that the agent of a node sends."""
    scenario = Scenario(OWN, folder / node)
    schema, ids = schema_of(scenario), Ids()
    form = commitlog.EventFormat(
        topic_prefix="shop",
        cluster="c",
        node_id=node,
        key="avro",
        value="avro",
        schema_ids=ids.ids,
    )
    place.mkdir()
    found = [
        Record(message.headers, message.value, message.key, message.topic)
        for path, name in scenario.segments()
        for message in messages(unpacked(path, name, place), schema, form, ids)
    ]
    assert found
    return found[:MOST]


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Record]]:
    place = tmp_path_factory.mktemp("avro")
    return {node: recorded(RECORDING, node, place / node) for node in NODES}


def content(record: Record) -> tuple[bytes | None, bytes | None, object]:
    return record.key, record.value, record.headers


def test_dedupe_passes_one_copy_unchanged(
    spark: SparkSession, tmp_path: Path, copies: dict[str, list[Record]]
) -> None:
    sent = [record for records in copies.values() for record in records]
    identities = {dict(record.headers or ())["cdc.id"] for record in sent}
    known = {content(record) for record in sent}
    rows = dedupe(events(frame(spark, sent))).collect()
    assert len(rows) == len(identities) < len(sent)
    for row in rows:
        headers = tuple((each.key, bytes(each.value)) for each in row.headers)
        assert (bytes(row.key), bytes(row.value), headers) in known

    stream = DedupeStream(spark, tmp_path)
    for records in copies.values():
        stream.add(*records)
    assert stream.run().events == len(identities)
    stored = {(bytes(row.key), bytes(row.value)) for row in stream.rows()}
    assert stored <= {(record.key, record.value) for record in sent}


def test_dedupe_by_cells_rejects_avro_with_a_remedy(
    spark: SparkSession, copies: dict[str, list[Record]]
) -> None:
    with pytest.raises(Exception, match="no valid `cells`") as raised:
        dedupe(events(frame(spark, copies["node1"][:1])), DedupeOptions(identity="cell")).collect()
    fault = mapped_error(raised.value)
    assert isinstance(fault, InputError)
    assert "Change the agents, or use identity=event" in str(fault)


def test_reconcile_rejects_avro_with_a_remedy(
    spark: SparkSession, tmp_path: Path, copies: dict[str, list[Record]]
) -> None:
    schema = RECORDING / "node1" / "schema.cql"
    for record in copies["node1"][:3]:
        fault = refusal(spark, tmp_path, schema, record)
        assert str(fault) == (
            f"The record {record.topic}/0/0 is Avro, but reconcile reads JSON. Set "
            "`value.converter=json` for the agents."
        )


def test_json_inside_an_avro_value_is_not_an_event(spark: SparkSession, tmp_path: Path) -> None:
    """An outbox table has events of another table as text."""
    table = "5a1c395e-b41f-11e5-9f22-ba0be0483c18"
    ddl = DDL.format(columns="a text")
    cells = {"kind": "row", "id": table, "pk": "AAAABw==", "token": 1, "ck": "", "ckv": []}
    text = json.dumps({"op": "i", "cells": cells}, separators=(",", ":"))
    path = inserted(tmp_path, ddl, {"a": text.encode()})
    ids = Ids()
    form = format_of(key="avro", value="avro", cells=False, schema_ids=ids.ids)
    (message,) = messages(path, commitlog.Schema.from_cql(ddl), form, ids)
    assert text.encode() in message.value
    schema = tmp_path / "schema.cql"
    schema.write_text(ddl)
    record = Record(message.headers, message.value, message.key, message.topic)
    assert "is Avro, but reconcile reads JSON" in str(refusal(spark, tmp_path, schema, record))


def refusal(spark: SparkSession, folder: Path, schema: Path, record: Record) -> InputError:
    store = VersionStore(spark, str(folder / "table"), buckets=1)
    tables = select_tables(read_schema(schema))
    with pytest.raises(Exception, match="is ") as raised:
        reconcile(events(frame(spark, [record])), store, tables)
    fault = mapped_error(raised.value)
    assert isinstance(fault, InputError)
    return fault
