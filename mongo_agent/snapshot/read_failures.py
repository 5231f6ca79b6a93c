"""What an error of the server means to the reading of a collection."""

from enum import Enum

from pymongo.errors import OperationFailure, PyMongoError

from mongo_agent.server.failures import RESUMABLE_LABEL, Failure, classify_failure
from mongo_agent.snapshot.records import CollectionSnapshot

_TOO_OLD = {239, 246}
"""SnapshotTooOld: the time left the server's window. SnapshotUnavailable: the collection, or an
index of it, is newer than the time."""
_CAPPED = "capped collections"
"""What the server says of them, with the second of these codes."""
_NO_CLUSTER_TIME = {9, 20, 72, 115, 303}
"""How servers and databases that have no `atClusterTime` refuse it."""


class ReadFailure(Enum):
    """Classes of errors, each with one policy. The chunk is never given up."""

    LATER = "later"
    """Read at a later point of the stream, at once."""
    CAPPED = "capped"
    """The collection has become one that is not read at a cluster time: from here on without."""
    PLAIN = "plain"
    """The server does not read at a cluster time: from here on without."""
    AGAIN = "again"
    """With growing pauses: an election, a lost connection, a privilege that can be granted."""
    REFUSED = "refused"
    """The server does not take the filter: the copy of this collection ends."""
    FATAL = "fatal"
    """Credentials are wrong. Trying again would lock the account."""


def classify_read_failure(
    error: PyMongoError, copy: CollectionSnapshot | None, *, is_exact: bool = False
) -> ReadFailure:
    """`copy` is what was read, None for the list of collections; `is_exact`: at a cluster time."""
    if not isinstance(error, OperationFailure):
        return ReadFailure.AGAIN
    if is_exact and error.code in _TOO_OLD:
        return ReadFailure.CAPPED if _CAPPED in str(error) else ReadFailure.LATER
    labels = [RESUMABLE_LABEL] if error.has_error_label(RESUMABLE_LABEL) else []
    failure = classify_failure(error.code, labels)
    if failure is Failure.AUTHENTICATION:
        return ReadFailure.FATAL
    if failure in (Failure.RESUMABLE, Failure.AUTHORISATION):
        return ReadFailure.AGAIN
    has_filter = copy is not None and copy.filter is not None
    if is_exact and error.code in _NO_CLUSTER_TIME and not (has_filter and error.code == 9):
        return ReadFailure.PLAIN
    return ReadFailure.REFUSED if has_filter else ReadFailure.AGAIN
