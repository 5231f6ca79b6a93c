"""Four readings of one segment: Cassandra's own, the parser's, the plain reader's, events."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any
from uuid import UUID

import commitlog
from tests.oracle.reference import Schema, parse_schema, read_segment, to_line
from tests.oracle.reference.recordings import KEYSTORE, recorded_keys
from tests.oracle.soak_parser.recording import Recorded
from tests.support.events.after_checks import check_after, static_columns
from tests.support.events.cells_checks import EVERYTHING, check_clustering_order, check_events
from tests.support.events.expected_events import Json
from tests.support.segments.segment_reading import Event, dump, events
from tests.support.servers.java_reader import dump_segments

KINDS = (
    *("updates", "updates of several in a mutation", "view updates", "counter updates", "rows"),
    *("static rows", "partition deletions", "row deletions", "shadowable deletions"),
    *("bounds", "boundaries", "complex deletions", "cells", "live", "expiring", "tombstone"),
    *("cells with a path", "empty values", "expiring liveness", "no liveness"),
    *("null clustering", "more than 32 clusterings", "more than 64 columns", "extreme times"),
    "expiry behind 2038",
)
"""Kinds that every long run must contain."""

_FAR_S = 0x7FFFFFFF


@dataclass(slots=True)
class Readings:
    """Output of each reader for one workload, in the order of the log."""

    cassandra: list[Json] = field(default_factory=list)
    parser: list[Json] = field(default_factory=list)
    plain: list[Json] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Compared:
    """`problems` by keyspace; under "" those of no keyspace. `content` counts the compared content
    of the log."""

    problems: dict[str, list[str]]
    readings: dict[str, Readings]
    content: Counter[str]


def compare(
    recorded: Sequence[Recorded], segments: Sequence[Path], folder: Path, version: str
) -> Compared:
    """Reads the segments with every reader. `folder` is for temporary files, and contains the
    keystore of encrypted segments. `version` is the release of Cassandra's reader. Raises the
    exception of a reader that fails as a whole."""
    text = "\n".join(each.schema for each in recorded)
    schema_file = folder / "schema.cql"
    schema_file.write_text(uncommented(text), encoding="utf-8")
    schema = commitlog.Schema.from_cql(text)
    plain_schema = parse_schema(uncommented(text))
    problems: dict[str, list[str]] = defaultdict(list)
    readings = {each.workload.keyspace: Readings() for each in recorded}

    keystore = folder / KEYSTORE
    keys = recorded_keys(keystore)
    theirs = dump_segments(
        segments, schema_file, keystore=keystore if keys else None, version=version
    )
    problems[""] += [f"Cassandra's reader: {error}" for error in theirs.errors]
    for line in map(json.loads, theirs.ndjson.splitlines()):
        readings[line["ks"]].cassandra.append(line)
    for segment in segments:
        dumped = dump(segment, schema)
        problems[""] += [f"gap in {segment.name}: {gap}" for gap in dumped.gaps]
        for line in dumped.lines:
            readings[line["ks"]].parser.append(line)
        plain = read_segment(segment, segment.name, plain_schema, keys=keys)
        for line in map(to_line, plain):
            readings[line["ks"]].plain.append(line)
        for event in events(segment, schema, EVERYTHING):
            readings[event.topic.split(".")[1]].events.append(event)

    silent = {table.id for table in schema.tables() if table.kind == "view"}
    counters = {table.id for table in schema.tables() if table.counter}
    statics = static_columns(uncommented(text))
    dense = dense_tables(uncommented(text), plain_schema)
    content: Counter[str] = Counter()
    for keyspace, found in readings.items():
        problems[keyspace] += _differences("the parser", found.parser, found.cassandra)
        problems[keyspace] += _differences("the plain reader", found.plain, found.cassandra)
        if not found.cassandra:
            problems[keyspace].append("nothing of it is in the log")
        published = [line for line in found.cassandra if line["id"] not in silent]
        problems[keyspace] += _event_problems(
            found.events, published, plain_schema, statics, counters, dense
        )
        content += content_of(found.cassandra, silent, counters)
        content["events"] += len(found.events)
    return Compared({k: v for k, v in problems.items() if v}, readings, content)


def uncommented(text: str) -> str:
    """Tables that DESCRIBE comments out because of compact storage, as the CQL that created them;
    the parser reads the comment itself."""
    text = re.sub(r"/\*\nWarning: [^;]*?\n\n(CREATE TABLE .*?;)\n\*/", r"\1", text, flags=re.DOTALL)
    # An order of a column that only the log contains.
    return text.replace("    AND CLUSTERING ORDER BY (column1 ASC)\n", "")


def dense_tables(text: str, schema: Schema) -> set[str]:
    """Ids of tables with COMPACT STORAGE and clustering columns."""
    names = set()
    for name, statement in re.findall(
        r"^CREATE TABLE (\S+) \((.*?);$", text, re.DOTALL | re.MULTILINE
    ):
        has_clustering = re.search(r"PRIMARY KEY \((?:\([^)]*\)|[^(),]*),", statement)
        if has_clustering and "COMPACT STORAGE" in statement:
            names.add(name)
    tables = schema.tables.values()
    return {str(each.id) for each in tables if f"{each.keyspace}.{each.name}" in names}


def _differences(reader: str, ours: list[Json], theirs: list[Json]) -> list[str]:
    """First differing line, and the place in it."""
    for number, (one, other) in enumerate(zip_longest(ours, theirs), 1):
        if one != other:
            place, mine, cassandras = first_difference(one, other)
            where = other or one or {}
            return [
                f"{reader} has {mine} and Cassandra {cassandras} in line {number}, "
                f"{where.get('segment')} at {where.get('pos')}, {where.get('table')}{place}"
            ]
    return []


def first_difference(one: Any, other: Any, place: str = "") -> tuple[str, Any, Any]:
    """Place and both values of the first difference between two JSON values."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for name in one:
            if one[name] != other[name]:
                return first_difference(one[name], other[name], f"{place}.{name}")
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            if mine != theirs:
                return first_difference(mine, theirs, f"{place}[{index}]")
    return place, one, other


def _event_problems(
    found: list[Event],
    lines: list[Json],
    schema: Schema,
    statics: dict[str, set[str]],
    counters: set[str],
    dense: set[str],
) -> list[str]:
    """Faults of the events compared with Cassandra's output, and with their `after`, which contains
    shards of a counter."""

    def after() -> None:
        for event in found:
            table_id = event.value["cells"]["id"]
            if table_id in counters:
                continue
            check_after(event, schema.tables[UUID(table_id)], statics.get(table_id, set()))

    checks: dict[str, Callable[[], None]] = {
        "events against the dump": lambda: check_events(found, lines, dense),
        "after against cells": after,
        "order of clusterings": lambda: check_clustering_order(found),
    }
    return [f"{name}: {error}" for name, check in checks.items() for error in _failure(check)]


def _failure(check: Callable[[], None]) -> Iterable[str]:
    try:
        check()
    except (AssertionError, KeyError, TypeError, ValueError) as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        if trace is None:
            return [repr(error)]
        values = {
            name: value
            for name, value in trace.tb_frame.f_locals.items()
            if name not in ("found", "lines", "expected", "schema", "statics", "last", "counters")
        }
        return [f"{error!r} in line {trace.tb_lineno} of {trace.tb_frame.f_code.co_name}: {values}"]
    return []


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
