"""The jobs with Avro topics."""

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import commitlog
from spark_jobs.dedupe.replica_copies import dedupe, with_cell_identity
from spark_jobs.errors import InputError, mapped_error
from spark_jobs.reconcile.selected_tables import select_tables
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.source.events import events
from tests.oracle.reference.recordings import OWN, Scenario
from tests.support.avro.reading import Ids, messages
from tests.support.avro.tables import DDL, format_of, inserted
from tests.support.segments.segment_reading import schema_of, unpacked
from tests.support.spark.records import Record, frame

RECORDING = OWN / "5.0" / "three-nodes"
NODES = ("node1", "node2", "node3")
MOST = 200
"""Number of records of each node."""


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    """Records that the agents of all nodes send, those of each node in order."""
    found: list[Record] = []
    for node in NODES:
        folder, ids = tmp_path_factory.mktemp(node), Ids()
        scenario = Scenario(OWN, RECORDING / node)
        form = commitlog.EventFormat(
            topic_prefix="shop",
            cluster="c",
            node_id=node,
            key="avro",
            value="avro",
            schema_ids=ids.ids,
        )
        of_node = [
            Record(message.headers, message.value, message.key, message.topic)
            for path, name in scenario.segments()
            for message in messages(unpacked(path, name, folder), schema_of(scenario), form, ids)
        ]
        assert of_node
        found += of_node[:MOST]
    return found


def test_dedupe_passes_one_avro_copy_unchanged(spark: SparkSession, copies: list[Record]) -> None:
    rows = dedupe(events(frame(spark, copies))).collect()
    identities = {dict(record.headers or ())["cdc.id"] for record in copies}
    assert len(rows) == len(identities) < len(copies)
    sent = {(record.key, record.value, record.headers) for record in copies}
    for row in rows:
        headers = tuple((each.key, bytes(each.value)) for each in row.headers)
        assert (bytes(row.key), bytes(row.value), headers) in sent


def test_dedupe_by_cells_rejects_avro_with_a_remedy(
    spark: SparkSession, copies: list[Record]
) -> None:
    found = with_cell_identity(events(frame(spark, copies[:1])), "cell")
    assert "Change the agents, or use identity=event" in str(refusal(found))


def test_json_inside_an_avro_value_is_not_an_event(spark: SparkSession, tmp_path: Path) -> None:
    """An outbox table contains events of another table as text."""
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
    found = select_tables(read_schema(schema)).events(events(frame(spark, [record])))
    assert "is Avro, but the merge reads JSON" in str(refusal(found))


def refusal(rows: DataFrame) -> InputError:
    with pytest.raises(Exception, match=r"is |no valid `cells`") as raised:
        rows.collect()
    fault = mapped_error(raised.value)
    assert isinstance(fault, InputError)
    return fault
