"""The status follows only from the conditions."""

from hypothesis import given
from hypothesis import strategies as st

from sidecar.health.condition import Condition, Rank, State, status_of


def _condition(code: str, state: State, rank: Rank = Rank.NONE) -> Condition:
    return Condition(code, state, "sink", "It happened.", "Repair it.", rank=rank)


@given(st.lists(st.builds(_condition, st.text(), st.sampled_from(State), st.sampled_from(Rank))))
def test_conditions_sort_by_urgency_and_worst_sets_state(conditions: list[Condition]) -> None:
    """Conditions of equal rank and state keep their order."""
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


def test_condition_message_ends_with_a_period() -> None:
    """Another sentence follows the message on the page and in `/health`."""
    (shown,) = status_of(
        [Condition("sink_unavailable", State.FAILING, "sink", "Connection refused", "Start it.")]
    ).conditions
    assert shown.message == "Connection refused."
