"""Only replica copies of an event are dropped."""

import json
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.reconcile.replica_copies import drop_replica_copies
from spark_jobs.source.cells import read_cells
from spark_jobs.source.events import events
from tests.support.spark.recorded import three_copies
from tests.support.spark.records import Record, frame, headers_of

CELLS = {"kind": "row", "id": "t", "pk": "aw==", "token": 1, "ck": "", "ckv": []}
EVENT_ID = bytes(16)


def copy(cells: dict[str, Any], *, position: int = 0, after: Any = None, offset: int = 0) -> Record:
    """The event as the agent writes it at this position."""
    envelope = {"source": {"pos": position}, "after": after, "cells": CELLS | cells}
    value = json.dumps(envelope, separators=(",", ":")).encode()
    return Record(headers_of(EVENT_ID, position=position), value, offset=offset)


def values(spark: SparkSession, *records: Record) -> list[tuple[dict[str, Any], int]]:
    """The remaining events, parsed, with their offsets."""
    found = drop_replica_copies(events(frame(spark, records))).collect()
    return sorted(((json.loads(row["value"]), row["offset"]) for row in found), key=repr)


def test_replica_copies_differ_only_in_their_source(spark: SparkSession) -> None:
    copies = [copy({}, position=at, offset=9 - at) for at in range(3)]
    assert values(spark, *copies) == [({"cells": CELLS}, 7)]


def test_attempts_of_a_statement_are_not_replica_copies(spark: SparkSession) -> None:
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
    [
        '{"cells" : {"kind":"row"}, "op":"i"}',
        "no JSON",
        '{"op":"i"}',
        '{"after":{"cells":null}}',
        '{"schema":{"name":"a"},"payload":{"op":"i","cells":{"kind":"row"}}}',
    ],
)
def test_another_format_stays_unchanged(spark: SparkSession, text: str) -> None:
    record = Record(headers_of(EVENT_ID), text.encode())
    (row,) = drop_replica_copies(events(frame(spark, [record]))).collect()
    assert row["value"] == text


def test_tombstones_are_dropped(spark: SparkSession) -> None:
    assert values(spark, replace(copy({}), value=None)) == []


def test_the_events_are_the_same_without_replica_copies(spark: SparkSession) -> None:
    records = events(frame(spark, three_copies(["5.0/three-nodes", "5.0/random"]))).cache()
    assert drop_replica_copies(records).count() < records.count() / 2
    all_events, ours = (
        read_cells(each).distinct() for each in (records, drop_replica_copies(records))
    )
    assert ours.exceptAll(all_events).isEmpty()
    assert all_events.exceptAll(ours).isEmpty()
    records.unpersist()
