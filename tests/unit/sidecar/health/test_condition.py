"""The status follows from the conditions alone."""

from hypothesis import given
from hypothesis import strategies as st

from sidecar.health.condition import Condition, Rank, State, status_of


def _condition(code: str, state: State, rank: Rank = Rank.NONE) -> Condition:
    return Condition(code, state, "sink", "It happened.", "Repair it.", rank=rank)


def id_of(condition: Condition) -> tuple[str, str, int]:
    return condition.code, condition.state, condition.rank


def test_an_agent_without_conditions_is_ok() -> None:
    assert status_of(()).state is State.OK


def test_the_worst_condition_gives_the_state_and_is_first() -> None:
    first, second, worst = (
        _condition("topics_missing", State.DEGRADED),
        _condition("segment_quarantined", State.DEGRADED),
        _condition("broker_unavailable", State.FAILING),
    )

    status = status_of((first, second, worst))

    assert status.state is State.FAILING
    assert status.conditions == (worst, first, second)


@given(st.lists(st.builds(_condition, st.text(), st.sampled_from(State), st.sampled_from(Rank))))
def test_rank_orders_conditions_and_the_worst_gives_the_state(conditions: list[Condition]) -> None:
    status = status_of(conditions)
    ranks = [each.urgency[0] for each in status.conditions]
    assert ranks == sorted(ranks, reverse=True)
    assert sorted(map(id_of, status.conditions)) == sorted(map(id_of, conditions))
    failing, degraded = (
        any(each.state is state for each in conditions) for state in (State.FAILING, State.DEGRADED)
    )
    assert (status.state is State.FAILING) == failing
    assert (status.state is State.DEGRADED) == (degraded and not failing)
    assert all(
        each.urgency[0] >= Rank.STOPPED for each in conditions if each.state is State.FAILING
    )


def test_every_message_is_a_whole_sentence() -> None:
    """Another sentence follows it in the page's headline and in `/health`."""
    (shown,) = status_of(
        [Condition("sink_unavailable", State.FAILING, "sink", "Connection refused", "Start it.")]
    ).conditions
    assert shown.message == "Connection refused."
