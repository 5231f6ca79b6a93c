"""The status follows from the conditions alone."""

from sidecar.health.condition import Condition, State, status_of


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


def test_every_message_is_a_whole_sentence() -> None:
    """Another sentence follows it in the page's headline and in `/health`."""
    (shown,) = status_of(
        [Condition("sink_unavailable", State.FAILING, "sink", "Connection refused", "Start it.")]
    ).conditions
    assert shown.message == "Connection refused."


def _condition(code: str, state: State) -> Condition:
    return Condition(code, state, "sink", "It happened.", "Repair it.")
