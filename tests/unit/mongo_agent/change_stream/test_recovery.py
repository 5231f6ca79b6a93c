"""Each class of failures has one recovery step."""

import pytest

from mongo_agent.change_stream.position import Opening, StreamPosition
from mongo_agent.change_stream.recovery import Abort, RecoveryPolicy, Reopen, recovery
from mongo_agent.documents import ClusterTime
from mongo_agent.server.errors import Failure
from sidecar.errors import AccessDeniedError, UnavailableError

TOKEN = {"_data": "8265C0FFEE000000032B022C0100296E5A"}
AT = StreamPosition(TOKEN, ClusterTime(0x65C0FFEE, 3), "f1", "rs0")
BEHIND = Opening(start_after=TOKEN)


def of(
    failure: Failure | None, last: Opening = BEHIND, rules: RecoveryPolicy | None = None
) -> Reopen | Abort:
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
        assert isinstance(again, Abort)
        assert failure is not Failure.TOO_LARGE or "`cursor.pipeline`" in str(again.error)
