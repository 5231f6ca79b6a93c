"""Tables with random events: two plain ones and one of counters, with many partitions."""

from base64 import b64decode, b64encode
from collections.abc import Iterable
from pathlib import Path
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_jobs.reconcile.source_table import SourceSchema, read_schema
from tests.oracle.algebra import Tables
from tests.oracle.merge.event_strategies import event_values, one_cell_events
from tests.support.events.counter_events import counter_events
from tests.support.spark.forms import EventValue, named


def examples(events: st.SearchStrategy[list[EventValue]], count: int) -> list[EventValue]:
    """Events of `count` random tables; the id of a table is its number."""
    drawn: list[list[EventValue]] = []

    @settings(
        max_examples=count, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(events)
    def gather(found: list[EventValue]) -> None:
        drawn.append(found)

    gather()
    return [named(str(number), each) for number, found in enumerate(drawn) for each in found]


def merged(values: Iterable[EventValue], counters: Iterable[str] = ()) -> Tables:
    tables = Tables(counter_ids=frozenset(counters))
    for value in values:
        tables.apply(value)
    return tables


T, U, COUNTERS = (str(UUID(int=number)) for number in (1, 2, 3))
"""Ids of the tables."""
_PLAIN = """
CREATE TABLE shop.{name} (
    k blob, c blob, a blob, b blob, m map<blob, blob>, me map<blob, blob>, s blob static,
    ms map<blob, blob> static, PRIMARY KEY (k, c)
) WITH ID = {id} AND cdc = true;
"""
_DDL = f"""{_PLAIN.format(name="t", id=T)}{_PLAIN.format(name="u", id=U)}
CREATE TABLE shop.counters (k blob, c blob, n counter, PRIMARY KEY (k, c))
    WITH ID = {COUNTERS} AND cdc = true;
"""


def random_schema(folder: Path) -> SourceSchema:
    """The schema of the tables."""
    path = folder / "random.cql"
    path.write_text(_DDL)
    return read_schema(path)


def random_events(count: int) -> list[EventValue]:
    """Events of `count` histories, each in partitions of its own."""
    plain = examples(st.lists(event_values(), max_size=14) | one_cell_events(), count)
    counted = examples(st.lists(counter_events(), max_size=8), count // 2)
    return [
        *(_moved(value, (T, U)[int(value["cells"]["id"]) % 2]) for value in plain),
        *(_moved(value, COUNTERS) for value in counted),
    ]


def _moved(value: EventValue, table_id: str) -> EventValue:
    """The event in a table, in a partition named after its history."""
    cells = value["cells"]
    number = int(cells["id"])
    key = number.to_bytes(4, "big") + b64decode(cells["pk"])
    return {"cells": cells | {"id": table_id, "pk": b64encode(key).decode(), "token": number}}
