"""Each class of failures has one recovery step."""

from dataclasses import replace

import pytest

from mongo_agent.change_stream.options import OversizePolicy
from mongo_agent.change_stream.position import Opening, StreamPosition
from mongo_agent.change_stream.recovery import RecoveryPolicy, Reopen, recovery
from mongo_agent.documents import ClusterTime
from mongo_agent.server.errors import Failure
from sidecar.errors import AccessDeniedError, SidecarError, UnavailableError

TOKEN = {"_data": "8265C0FFEE000000032B022C0100296E5A"}
AT = StreamPosition(TOKEN, ClusterTime(0x65C0FFEE, 3), "f1", "rs0")
BEHIND = Opening(start_after=TOKEN)


def of(
    failure: Failure | None, last: Opening = BEHIND, rules: RecoveryPolicy | None = None
) -> Reopen | SidecarError:
    return recovery(failure, "says the server", last, AT, rules or RecoveryPolicy())


@pytest.mark.parametrize(
    ("failure", "opening", "has_pause"),
    [
        (Failure.RESUMABLE, BEHIND, True),
        (Failure.OTHER, BEHIND, True),
        (Failure.AUTHORISATION, BEHIND, True),
        # After an invalidation the stream resumes immediately.
        (None, BEHIND, False),
        (Failure.TOO_LARGE, Opening(start_after=TOKEN, is_split=True), False),
        (Failure.FILTERED_TOKEN, Opening(from_time=AT.time, sent=TOKEN), False),
    ],
)
def test_stream_reopens_after_recoverable_failure(
    failure: Failure | None, opening: Opening, has_pause: bool
) -> None:
    step = of(failure)
    assert isinstance(step, Reopen)
    assert (step.opening, step.has_pause, step.lost) == (opening, has_pause, None)
    if failure is Failure.AUTHORISATION:
        assert isinstance(step.final_error(16), AccessDeniedError)
        assert "mongo-agent check" in step.message
    elif has_pause:
        assert isinstance(step.final_error(16), UnavailableError)
        assert "16 attempts" in str(step.final_error(16))
    elif failure is not None:
        again = of(failure, step.opening)
        assert isinstance(again, SidecarError)
        assert failure is not Failure.TOO_LARGE or "`cursor.pipeline`" in str(again)


@pytest.mark.parametrize("oversize", ["fail", "skip", "split"])
@pytest.mark.parametrize("failure", Failure, ids=str)
def test_repeated_failure_without_progress_pauses_or_ends(
    failure: Failure, oversize: OversizePolicy
) -> None:
    """Otherwise the agent would ask the server without a pause and without an end."""
    rules = RecoveryPolicy(oversize=oversize)
    step = of(failure, rules=rules)
    for _ in range(3):
        if isinstance(step, SidecarError) or step.has_pause:
            break
        step = of(failure, step.opening, rules)
    assert isinstance(step, SidecarError) or step.has_pause


def test_reply_above_the_memory_limit_is_read_event_by_event() -> None:
    step = of(Failure.MEMORY_LIMIT)
    assert isinstance(step, Reopen)
    assert step.opening == Opening(start_after=TOKEN, batch_size=1)
    # After progress the next failure is another event's.
    elsewhere = Opening(start_after={"_data": "8265C0FFEE000000022B0229296E04"}, batch_size=1)
    again = of(Failure.MEMORY_LIMIT, elsewhere)
    assert isinstance(again, Reopen)
    assert again.opening == step.opening


@pytest.mark.parametrize(("oversize", "is_skipped"), [("fail", 0), ("skip", 1), ("split", 0)])
def test_event_above_the_memory_limit_follows_the_policy(
    oversize: OversizePolicy, is_skipped: bool
) -> None:
    alone = Opening(start_after=TOKEN, batch_size=1)
    step = of(Failure.MEMORY_LIMIT, alone, RecoveryPolicy(oversize=oversize))
    assert isinstance(step, Reopen) == is_skipped
    if isinstance(step, Reopen):
        assert step.opening == replace(alone, is_bare=True)
        # The stream then reads whole events again.
        after = of(None, step.opening)
        assert isinstance(after, Reopen)
        assert after.opening == BEHIND
    else:
        assert "cursor.oversize.handling.mode=skip" in str(step)
