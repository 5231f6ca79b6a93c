"""Classification of errors of snapshot reads."""

from enum import Enum

from pymongo.errors import OperationFailure, PyMongoError

from mongo_agent.server.failures import RESUMABLE_LABEL, Failure, classify_failure
from mongo_agent.snapshot.records import CollectionSnapshot

_TOO_OLD = {239, 246}
"""SnapshotTooOld: the time left the server's history window. SnapshotUnavailable: the collection
or one of its indexes is newer than the time."""
_CAPPED = "capped collections"
"""Part of the server's message for them, with the code SnapshotUnavailable."""
_NO_CLUSTER_TIME = {9, 20, 72, 115, 303}
"""Codes of servers and databases without `atClusterTime`."""


class ReadFailure(Enum):
    """Classes of errors, each with one policy. A chunk is never skipped."""

    LATER = "later"
    """Retry at once at a later point of the stream."""
    CAPPED = "capped"
    """The collection is capped: read it without a cluster time from now on."""
    PLAIN = "plain"
    """The server has no reads at a cluster time: read without from now on."""
    AGAIN = "again"
    """Retry with growing pauses: an election, a lost connection."""
    DENIED = "denied"
    """A missing privilege: retry, because it can be granted meanwhile."""
    REJECTED = "rejected"
    """The server rejects the filter: the snapshot of this collection ends."""
    FATAL = "fatal"
    """Wrong credentials: a retry would lock the account."""


def classify_read_failure(
    error: PyMongoError, snapshot: CollectionSnapshot | None, *, is_exact: bool = False
) -> ReadFailure:
    """Classify an error of reading `snapshot`, or of listing collections if that is None.

    `is_exact` marks a read at a cluster time.
    """
    if not isinstance(error, OperationFailure):
        return ReadFailure.AGAIN
    if is_exact and error.code in _TOO_OLD:
        return ReadFailure.CAPPED if _CAPPED in str(error) else ReadFailure.LATER
    labels = [RESUMABLE_LABEL] if error.has_error_label(RESUMABLE_LABEL) else []
    failure = classify_failure(error.code, labels)
    if failure is Failure.AUTHENTICATION:
        return ReadFailure.FATAL
    if failure is Failure.AUTHORISATION:
        return ReadFailure.DENIED
    if failure is Failure.RESUMABLE:
        return ReadFailure.AGAIN
    has_filter = snapshot is not None and snapshot.filter is not None
    if is_exact and error.code in _NO_CLUSTER_TIME and not (has_filter and error.code == 9):
        return ReadFailure.PLAIN
    return ReadFailure.REJECTED if has_filter else ReadFailure.AGAIN
