"""How long a snapshot waits for a missing privilege."""

import pytest
from pymongo.errors import OperationFailure

from mongo_agent.server.errors import authorisation_message
from mongo_agent.snapshot.read_failures import ReadFailure, classify_read_failure
from mongo_agent.snapshot.read_retry import ReadRetry
from sidecar.errors import AccessDeniedError
from sidecar.process.wait_policy import RetryPause

DENIED = OperationFailure("not authorized on shop to execute command listCollections", 13)


@pytest.mark.parametrize("waits", [True, False])
def test_missing_privilege_is_retried_or_fails(waits: bool) -> None:
    assert classify_read_failure(DENIED, None) is ReadFailure.DENIED
    now_s, tries = 0.0, 0
    retry = ReadRetry(RetryPause(1.0, 120.0, 4), lambda: now_s, 0, waits_when_denied=waits)
    for _ in range(40):
        if retry.error is None:
            assert retry.may_read
            retry.note_failure(DENIED, authorisation_message(str(DENIED)))
            tries += 1
        now_s += 1000
    assert (retry.error is None) == waits
    assert tries == (40 if waits else 5)
    assert "`mongo-agent check`" in retry.message
    if retry.error is not None:
        assert isinstance(retry.error, AccessDeniedError)
        assert "listCollections" in str(retry.error)
