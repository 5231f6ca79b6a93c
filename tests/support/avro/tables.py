"""Rows of given tables as JSON and as Avro."""

import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings

import commitlog
from tests.oracle.reference import parse_schema
from tests.oracle.reference.model import Cell, Liveness, PartitionUpdate, Row
from tests.oracle.writer import Form, write_mutation, write_segment
from tests.support.avro.reading import Ids, messages

TIME_US = 1_795_000_000_000_000
ONE_SEGMENT = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def format_of(*, topic_prefix: str = "p", **choices: Any) -> commitlog.EventFormat:
    return commitlog.EventFormat(
        topic_prefix=topic_prefix, cluster="c", node_id="n", all_tables=True, **choices
    )


def inserted(folder: Path, ddl: str, values: dict[str, bytes]) -> Path:
    """A segment with one row of the only table of `ddl`, whose key is an int."""
    (table,) = parse_schema(ddl).tables.values()
    cells = tuple(Cell(name, None, TIME_US, None, None, values[name]) for name in sorted(values))
    row = Row((), Liveness(TIME_US, None, None), None, False, (), cells)
    update = PartitionUpdate(table, b"\0\0\0\7", None, None, (row,))
    path = folder / "CommitLog-7-1.log"
    path.write_bytes(write_segment([[write_mutation([update], Form(version=7))]], version=7).data)
    return path


def both(
    path: Path, ddl: str, given: Ids | None = None, **choices: Any
) -> tuple[Ids, bytes, dict[str, Any]]:
    """A value as Avro, and the JSON of the same."""
    schema, ids = commitlog.Schema.from_cql(ddl), given or Ids()
    as_avro = format_of(**choices, key="avro", value="avro", schema_ids=ids.ids)
    as_json = format_of(**{"names": "avro", **choices})
    (avro,) = messages(path, schema, as_avro, ids)
    (plain,) = messages(path, schema, as_json)
    return ids, avro.value, json.loads(plain.value)


def modes_of(mode: str) -> dict[str, Any]:
    """Of decimals (`double`, `precise`, `string`), and what goes with it of the others."""
    return {
        "decimal": mode,
        "varint": "long" if mode == "double" else mode,
        "duration": "nanos" if mode == "double" else mode,
    }


DDL = """CREATE TABLE ks.t (k int PRIMARY KEY, {columns})
  WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c18;"""
