"""Random events, and their merge by the algebra."""

from collections.abc import Iterable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.oracle.algebra import Tables
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
