"""Merging agrees with the second opinion, which ignores order and repetitions."""

from collections.abc import Iterable
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.algebra.table import Table
from tests.oracle.merge import second_opinion
from tests.oracle.merge.event_strategies import TIMES_US, EventValue, event_values, one_cell_events

EVENTS = st.lists(event_values(), max_size=14)
NOWS_S = range(9, 15)


def merged(events: Iterable[EventValue]) -> Table:
    table = Table()
    for event in events:
        table.apply(event)
    return table


def shown(table: Table) -> list[object]:
    """All rows in order at every second, with their clusterings."""
    return [
        [(key, table.clustering(key), row) for key, row in table.rows(now_s).items()]
        for now_s in NOWS_S
    ]


@given(EVENTS)
def test_merge_agrees_with_the_second_opinion(events: list[EventValue]) -> None:
    table = merged(events)
    for now_s in NOWS_S:
        assert table.rows(now_s) == second_opinion.rows(events, now_s)


@given(one_cell_events())
def test_merged_ties_agree_with_the_second_opinion(events: list[EventValue]) -> None:
    """In any order of comparisons."""
    for order in list(permutations(events))[:24]:
        table = merged(order)
        for now_s in NOWS_S:
            assert table.rows(now_s) == second_opinion.rows(events, now_s)


@given(EVENTS, TIMES_US, st.dictionaries(st.sampled_from("abms"), TIMES_US))
def test_merged_truncation_and_drops_agree_with_the_second_opinion(
    events: list[EventValue], truncated_to_us: int, dropped: dict[str, int]
) -> None:
    """Whether the truncation and drops arrive before or after the events, once or twice."""
    left = list(second_opinion.without(events, truncated_to_us, dropped))
    for tells in ((True, False), (False, True), (True, True)):
        table = Table()
        for tell, batch in zip(tells, (events, ()), strict=True):
            if tell:
                table.truncate(truncated_to_us - 1)
                table.truncate(truncated_to_us)
                for column, ts_us in dropped.items():
                    table.drop(column, ts_us)
            for event in batch:
                table.apply(event)
        for now_s in NOWS_S:
            assert table.rows(now_s) == second_opinion.rows(left, now_s)


@given(EVENTS, st.integers(0, 14))
def test_read_between_batches_does_not_change_the_merge(events: list[EventValue], at: int) -> None:
    table = merged(events[:at])
    shown(table)
    for event in events[at:]:
        table.apply(event)
    assert shown(table) == shown(merged(events))
