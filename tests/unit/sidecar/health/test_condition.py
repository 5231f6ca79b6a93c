"""The status follows from the conditions alone."""

from hypothesis import given
from hypothesis import strategies as st

from sidecar.health.condition import Condition, Rank, State, status_of


def _condition(code: str, state: State, rank: Rank = Rank.NONE) -> Condition:
    return Condition(code, state, "sink", "It happened.", "Repair it.", rank=rank)


@given(st.lists(st.builds(_condition, st.text(), st.sampled_from(State), st.sampled_from(Rank))))
def test_rank_orders_conditions_and_the_worst_gives_the_state(conditions: list[Condition]) -> None:
    """Those of one rank and state keep their order."""
    status = status_of(conditions)
    by_urgency = sorted(conditions, key=lambda each: each.urgency, reverse=True)
    assert list(status.conditions) == by_urgency
    failing, degraded = (
        any(each.state is state for each in conditions) for state in (State.FAILING, State.DEGRADED)
    )
    worst = State.FAILING if failing else State.DEGRADED if degraded else State.OK
    assert status.state is worst
    assert all(
        each.urgency[0] >= Rank.STOPPED for each in conditions if each.state is State.FAILING
    )


def test_every_message_is_a_whole_sentence() -> None:
    """Another sentence follows it in the page's headline and in `/health`."""
    (shown,) = status_of(
        [Condition("sink_unavailable", State.FAILING, "sink", "Connection refused", "Start it.")]
    ).conditions
    assert shown.message == "Connection refused."
