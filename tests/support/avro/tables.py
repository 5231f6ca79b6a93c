"""Rows of given tables as JSON and as Avro."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import commitlog
from tests.oracle.reference import parse_schema
from tests.oracle.reference.model import Cell, Liveness, PartitionUpdate, Row
from tests.oracle.writer import Form, write_mutation, write_segment
from tests.support.avro.reading import Ids, messages
from tests.support.events.cql_values import nullable, schema_text, types

TIME_US = 1_795_000_000_000_000
ONE_SEGMENT = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def format_of(*, topic_prefix: str = "p", **choices: Any) -> commitlog.EventFormat:
    return commitlog.EventFormat(
        topic_prefix=topic_prefix, cluster="c", node_id="n", all_tables=True, **choices
    )


def segment_of(folder: Path, updates: Iterable[PartitionUpdate]) -> Path:
    """A segment with a mutation for each update."""
    payloads = [write_mutation([update], Form(version=7)) for update in updates]
    path = folder / "CommitLog-7-1.log"
    path.write_bytes(write_segment([payloads], version=7).data)
    return path


def inserted(folder: Path, ddl: str, *rows: dict[str, bytes]) -> Path:
    """A segment with rows of the only table of `ddl`, whose key is an int, from 7 on."""
    (table,) = parse_schema(ddl).tables.values()
    updates = []
    for key, values in enumerate(rows, 7):
        cells = [Cell(name, None, TIME_US, None, None, values[name]) for name in sorted(values)]
        row = Row((), Liveness(TIME_US, None, None), None, False, (), tuple(cells))
        updates.append(PartitionUpdate(table, key.to_bytes(4), None, None, (row,)))
    return segment_of(folder, updates)


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


@st.composite
def made_rows(draw: st.DrawFn) -> tuple[str, dict[str, bytes], dict[str, Any]]:
    """A table with columns of any types, the values of a row, and modes of numbers."""
    kinds = draw(st.lists(types(), min_size=1, max_size=3))
    columns = {f"c{at}": of for at, of in enumerate(kinds)}
    values = {name: draw(nullable(of)) for name, of in columns.items()}
    mode = draw(st.sampled_from(("double", "precise", "string")))
    written = {name: value for name, value in values.items() if value is not None}
    return schema_text(columns), written, modes_of(mode)


@st.composite
def named_rows(draw: st.DrawFn, alphabet: str) -> tuple[str, dict[str, bytes]]:
    """A table whose columns have any names of an alphabet, and a row of different numbers."""
    names = draw(st.sets(st.text(alphabet, min_size=1, max_size=4), min_size=1, max_size=6))
    quoted = [name.replace('"', '""') for name in sorted(names)]
    ddl = DDL.format(columns=", ".join(f'"{name}" int' for name in quoted))
    return ddl, {name: number.to_bytes(4) for number, name in enumerate(sorted(names))}


@st.composite
def grown_tables(draw: st.DrawFn) -> tuple[str, str]:
    """A table before and after it got columns of any types, in any order."""
    some, more = (draw(st.lists(types(), min_size=1, max_size=3)) for _ in range(2))
    fewer = {f"a{at}": of for at, of in enumerate(some)}
    all_of = {**fewer, **{f"b{at}": of for at, of in enumerate(more)}}
    # A type that is used twice is defined by its first use.
    reverse = draw(st.booleans())
    grown = dict(reversed(all_of.items())) if reverse else all_of
    return schema_text(fewer), schema_text(grown)


DDL = """CREATE TABLE ks.t (k int PRIMARY KEY, {columns})
  WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c18;"""
