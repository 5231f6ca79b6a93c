"""Recorded segments as an archive: the algebra over the included writes yields the same rows."""

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.rebuild.options import RebuildOptions
from spark_jobs.rebuild.sources import open_sources
from spark_jobs.rebuild.window import Window
from spark_jobs.reconcile.source_table import SourceTable, read_schema
from spark_jobs.reconcile.visible_rows import merged, merger_of
from tests.oracle.algebra import Tables
from tests.support.events.merge_batches import until, without
from tests.support.segments.archive import agents_events, archive, recording
from tests.support.spark.forms import Rows, shown_rows
from tests.support.spark.options import options_of

THREE_NODES, EXPIRING = "5.0/three-nodes", "5.0-none/ttl"
NODES = {THREE_NODES: ("node1", "node2", "node3"), EXPIRING: (".",)}
NOW_US = 1_900_000_000_000_000


def that_count(events: Iterable[Mapping[str, Any]], window: Window) -> list[Mapping[str, Any]]:
    """Events with the included writes."""
    if window.without_us is not None:
        return list(without(events, *window.without_us))
    return list(events if window.until_us is None else until(events, window.until_us))


def times(cells: Mapping[str, Any]) -> list[int]:
    single = [cells[member]["ts"] for member in ("live", "del") if member in cells]
    return single + [each["ts"] for member in ("cdel", "cell") for each in cells.get(member, ())]


def windows(written_us: list[int]) -> list[Window]:
    """Everything, half of it, and without the middle; bounds are between statements."""
    ordered = sorted(set(written_us))
    gaps = [low + 1 for low, high in pairwise(ordered) if high - low > 3]
    if len(gaps) < 3:
        return [Window(NOW_US)]
    first, middle, last = gaps[len(gaps) // 4], gaps[len(gaps) // 2], gaps[-len(gaps) // 4]
    return [
        Window(NOW_US),
        Window(NOW_US, until_us=middle),
        Window(NOW_US, without_us=(first, last)),
    ]


@pytest.mark.parametrize(
    ("name", "most_tables"), [(THREE_NODES, 1), pytest.param(EXPIRING, 2, marks=pytest.mark.slow)]
)
def test_rebuilt_rows_equal_the_algebra(
    spark: SparkSession, tmp_path: Path, name: str, most_tables: int
) -> None:
    nodes = {node: recording(f"{name}/{node}") for node in NODES[name]}
    archive(nodes, tmp_path / "archive")
    path = next(iter(nodes.values())).folder / "schema.cql"
    schema = read_schema(path)
    events = [agents_events(scenario, tmp_path) for scenario in nodes.values()]
    compared = 0
    for table in schema.tables[:most_tables]:
        found = [{"cells": each[-1]} for of_node in events for each in of_node.get(table.id, ())]
        for window in windows([ts_us for each in found for ts_us in times(each["cells"])]):
            tables = Tables()
            for event in that_count(found, window):
                tables.apply(event)
            expected = tables.of(table.id).rows(window.second)
            assert rebuilt(spark, tmp_path, path, table, window) == expected
            compared += len(expected)
    assert compared


def rebuilt(
    spark: SparkSession, folder: Path, schema_file: Path, table: SourceTable, window: Window
) -> Rows:
    settings = {
        "segments": str(folder / "archive"),
        "schema.file": str(schema_file),
        "table": table.full_name,
        "target": "/nowhere",
        "at": "1",
        "accept.incomplete": "true",
    }
    schema = read_schema(schema_file)
    sources = open_sources(spark, options_of(RebuildOptions, settings), schema, table, window)
    merger = merger_of(schema, table)
    rows = merged(
        sources.rows, partial(merger.rows, **window.merge_options([])), merger.rows_schema
    )
    found = shown_rows(rows)
    assert not sources.unread()
    return found
