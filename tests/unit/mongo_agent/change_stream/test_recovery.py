"""Each class of failures has one answer."""

import pytest

from mongo_agent.change_stream.position import Opening, StreamPosition
from mongo_agent.change_stream.recovery import Abort, RecoveryPolicy, Reopen, recovery
from mongo_agent.documents.cluster_time import ClusterTime
from mongo_agent.server.failures import Failure
from sidecar.errors import AccessDeniedError, UnavailableError

TOKEN = {"_data": "8265C0FFEE000000032B022C0100296E5A"}
AT = StreamPosition(TOKEN, ClusterTime(0x65C0FFEE, 3), "f1", "rs0")
BEHIND = Opening(start_after=TOKEN)


def of(
    failure: Failure | None, last: Opening = BEHIND, rules: RecoveryPolicy | None = None
) -> Reopen | Abort:
    return recovery(failure, "says the server", last, AT, rules or RecoveryPolicy())


@pytest.mark.parametrize("failure", [Failure.RESUMABLE, Failure.OTHER])
def test_a_lost_server_is_waited_for(failure: Failure) -> None:
    step = of(failure)
    assert isinstance(step, Reopen)
    assert (step.opening, step.has_pause, step.lost) == (BEHIND, True, None)
    assert isinstance(step.final_error(16), UnavailableError)
    assert "16 attempts" in str(step.final_error(16))


def test_stream_resumes_at_once_after_an_invalidation() -> None:
    step = of(None)
    assert isinstance(step, Reopen)
    assert (step.opening, step.has_pause) == (BEHIND, False)


def test_a_privilege_may_be_granted_meanwhile() -> None:
    step = of(Failure.AUTHORISATION)
    assert isinstance(step, Reopen)
    assert (step.opening, step.has_pause) == (BEHIND, True)
    assert isinstance(step.final_error(16), AccessDeniedError)
    assert "mongo-agent check" in step.message


def test_a_large_event_is_read_in_parts() -> None:
    step = of(Failure.TOO_LARGE)
    assert isinstance(step, Reopen)
    assert (step.opening, step.has_pause) == (Opening(start_after=TOKEN, is_split=True), False)
    again = of(Failure.TOO_LARGE, step.opening)
    assert isinstance(again, Abort)
    assert "`cursor.pipeline`" in str(again.error)


def test_filters_that_leave_out_the_event_of_the_token_open_by_time_once() -> None:
    step = of(Failure.FILTERED_TOKEN)
    assert isinstance(step, Reopen)
    assert step.opening == Opening(from_time=AT.time, sent=TOKEN)
    assert isinstance(of(Failure.FILTERED_TOKEN, step.opening), Abort)
