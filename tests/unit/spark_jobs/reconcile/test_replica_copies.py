"""Copies of an event are one before their JSON is parsed, and nothing else is."""

import json
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.reconcile.replica_copies import drop_replica_copies
from spark_jobs.reconcile.versions import latest, to_versions
from spark_jobs.source import events
from spark_jobs.source.cells import read_cells
from tests.support.spark.recorded import three_copies
from tests.support.spark.records import Record, frame, headers_of

CELLS = {"kind": "row", "id": "t", "pk": "aw==", "token": 1, "ck": "", "ckv": []}
EVENT_ID = bytes(16)


def copy(cells: dict[str, Any], *, position: int = 0, after: Any = None, offset: int = 0) -> Record:
    """As the agent at this position writes it."""
    envelope = {"source": {"pos": position}, "after": after, "cells": CELLS | cells}
    value = json.dumps(envelope, separators=(",", ":")).encode()
    return Record(headers_of(EVENT_ID, position=position), value, offset=offset)


def values(spark: SparkSession, *records: Record) -> list[tuple[dict[str, Any], int]]:
    """What is left, parsed, each with its offset."""
    found = drop_replica_copies(events(frame(spark, records))).collect()
    return sorted(((json.loads(row["value"]), row["offset"]) for row in found), key=repr)


def test_copies_differ_in_where_they_come_from(spark: SparkSession) -> None:
    copies = [copy({}, position=at, offset=9 - at) for at in range(3)]
    assert values(spark, *copies) == [({"cells": CELLS}, 7)]


def test_attempts_of_a_statement_differ_in_what_they_say(spark: SparkSession) -> None:
    attempts = [copy({"del": {"ts": 5, "ldt": second}}) for second in (7, 8)]
    found = values(spark, *attempts, *attempts)
    assert [value["cells"]["del"]["ldt"] for value, _ in found] == [7, 8]


@pytest.mark.parametrize(
    "after",
    [
        {"cells": {"kind": "row"}},
        {"cells": '"cells":{"kind":"row"}}'},
        {"cells": None, "note": 'a \\ and "cells":'},
    ],
)
def test_members_of_the_same_name_do_not_matter(spark: SparkSession, after: Any) -> None:
    cells = {"cell": [{"col": "cells", "ts": 1, "val": "e30="}]}
    assert values(spark, copy(cells, after=after)) == [({"cells": CELLS | cells}, 0)]


@pytest.mark.parametrize(
    "text",
    ['{"cells" : {"kind":"row"}, "op":"i"}', "no JSON", '{"op":"i"}', '{"after":{"cells":null}}'],
)
def test_another_form_stays_as_it_is(spark: SparkSession, text: str) -> None:
    record = Record(headers_of(EVENT_ID), text.encode())
    (row,) = drop_replica_copies(events(frame(spark, [record]))).collect()
    assert row["value"] == text


def test_tombstones_are_left_out(spark: SparkSession) -> None:
    assert values(spark, replace(copy({}), value=None)) == []


def test_recorded_copies_give_the_versions_of_all_of_them(spark: SparkSession) -> None:
    records = events(frame(spark, three_copies(["5.0/three-nodes", "5.0/random"]))).cache()
    assert drop_replica_copies(records).count() < records.count() / 2
    all_versions, ours = (
        latest(to_versions(read_cells(each), 4)) for each in (records, drop_replica_copies(records))
    )
    assert ours.exceptAll(all_versions).isEmpty()
    assert all_versions.exceptAll(ours).isEmpty()
    records.unpersist()
