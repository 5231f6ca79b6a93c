"""Transactions begin once, count their events, and end as soon as that can be known."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mongo_agent.change_stream.tokens import ClusterTime
from mongo_agent.transactions import Open, Part, after_event, after_token


def at(increment: int) -> ClusterTime:
    return ClusterTime(9, increment)


def test_an_event_of_no_transaction_is_nothing_more() -> None:
    step = after_event(None, None, "shop.a", at(1))
    assert (step.open, step.begun, step.part, step.ended) == (None, None, None, None)


def test_events_are_counted_in_all_and_by_collection() -> None:
    step = after_event(None, "t1", "shop.a", at(1))
    assert (step.begun, step.part) == ("t1", Part("t1", 1, 1))
    step = after_event(step.open, "t1", "shop.b", at(1))
    assert (step.begun, step.part) == (None, Part("t1", 2, 1))
    step = after_event(step.open, "t1", "shop.a", at(1))
    assert step.part == Part("t1", 3, 2)
    assert step.open is not None
    assert dict(step.open.counts) == {"shop.a": 2, "shop.b": 1}


def test_another_event_ends_it() -> None:
    state = after_event(None, "t1", "shop.a", at(1)).open
    step = after_event(state, "t2", "shop.a", at(1))
    assert (step.ended, step.begun) == (state, "t2")
    alone = after_event(state, None, "shop.a", at(2))
    assert (alone.ended, alone.open) == (state, None)


def test_a_later_token_ends_it() -> None:
    state = after_event(None, "t1", "shop.a", at(1)).open
    assert after_token(state, at(1)).open == state
    assert after_token(state, at(2)).ended == state
    assert after_token(None, at(2)).ended is None


def test_a_large_one_has_several_times() -> None:
    state = after_event(None, "t1", "shop.a", at(1)).open
    state = after_event(state, "t1", "shop.a", at(4)).open
    assert after_token(state, at(3)).ended is None
    assert after_token(state, at(5)).ended == state


events = st.lists(
    st.tuples(st.sampled_from(["t1", "t2", None]), st.sampled_from(["a", "b"])), max_size=12
)


@given(events)
def test_all_that_begins_ends_with_what_it_had(found: list[tuple[str | None, str]]) -> None:
    state: Open | None = None
    begun: list[str] = []
    ended: list[Open] = []
    for number, (transaction, collection) in enumerate(found):
        step = after_event(state, transaction, collection, at(number))
        begun += [step.begun] if step.begun else []
        ended += [step.ended] if step.ended else []
        state = step.open
        assert (step.part is None) == (transaction is None)
    last = after_token(state, at(len(found)))
    ended += [last.ended] if last.ended else []
    assert begun == [each.id for each in ended]
    counted: Counter[str] = Counter()
    for each in ended:
        assert each.events > 0
        counted.update(each.counts)
    assert counted == Counter(name for transaction, name in found if transaction)
