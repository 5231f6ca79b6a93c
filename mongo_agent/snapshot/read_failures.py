"""Classification of snapshot read errors."""

from enum import Enum

from pymongo.errors import (
    NotPrimaryError,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
)

from mongo_agent.server.errors import (
    Failure,
    authorisation_message,
    classify_failure,
    error_text,
)
from mongo_agent.snapshot.records import CollectionSnapshot

_TOO_OLD = {239, 246, 250, 272}
"""SnapshotTooOld: the time is before the server's history window. SnapshotUnavailable: the
collection or one of its indexes is newer than the time. StaleChunkHistory, MigrationConflict: a
chunk of documents has moved to another shard since."""
_CAPPED = "capped collections"
"""Part of the server's message for capped collections, with the code SnapshotUnavailable."""
_NO_CLUSTER_TIME = {9, 20, 72, 115, 303}
"""Codes of servers and databases without `atClusterTime`."""


class ReadFailure(Enum):
    """Error classes, each with one policy. A chunk is never skipped."""

    LATER = "later"
    """Retry at once at a later point of the stream."""
    CAPPED = "capped"
    """The collection is capped: read it without a cluster time from now on."""
    PLAIN = "plain"
    """The server does not support reads at a cluster time: read without one from now on."""
    AGAIN = "again"
    """An election, or no server: all reads retry, with growing pauses."""
    COLLECTION = "collection"
    """A missing privilege, damage, or an unexpected error: only this collection pauses."""
    DENIED = "denied"
    """Listing collections needs a privilege: retry, because an operator may grant it."""
    REJECTED = "rejected"
    """The server rejects the filter: the snapshot of this collection ends."""
    FATAL = "fatal"
    """Wrong credentials: a retry would lock the account."""


def classify_read_failure(
    error: Exception, snapshot: CollectionSnapshot | None, *, is_exact: bool = False
) -> ReadFailure:
    """Classify an error from reading `snapshot`, or from listing collections if it is None.

    `is_exact` marks a read at a cluster time.
    """
    of_one = ReadFailure.AGAIN if snapshot is None else ReadFailure.COLLECTION
    if not isinstance(error, OperationFailure):
        # One collection may cause a timeout or crash a server. If no server is left, the driver
        # cannot select a server.
        is_shared = isinstance(error, (NotPrimaryError, ServerSelectionTimeoutError))
        return ReadFailure.AGAIN if is_shared else of_one
    if is_exact and error.code in _TOO_OLD:
        return ReadFailure.CAPPED if _CAPPED in str(error) else ReadFailure.LATER
    failure = classify_failure(error)
    if failure is Failure.AUTHENTICATION:
        return ReadFailure.FATAL
    if failure is Failure.AUTHORISATION:
        return ReadFailure.DENIED if snapshot is None else ReadFailure.COLLECTION
    if failure is Failure.RESUMABLE:
        return ReadFailure.AGAIN
    has_filter = snapshot is not None and snapshot.filter is not None
    if is_exact and error.code in _NO_CLUSTER_TIME and not (has_filter and error.code == 9):
        return ReadFailure.PLAIN
    return ReadFailure.REJECTED if has_filter else of_one


def failure_text(error: Exception, snapshot: CollectionSnapshot) -> str:
    """Format a sentence with the collection, the error and, for a server error, its code."""
    if not isinstance(error, PyMongoError):
        reason = f"unexpected error ({type(error).__name__}: {error})"
        return f"{snapshot.namespace}: {reason}. Set log.level=debug for details."
    text = error_text(error)
    if not isinstance(error, OperationFailure):
        return f"{snapshot.namespace}: {text}."
    if classify_failure(error) is Failure.AUTHORISATION:
        return f"{snapshot.namespace}: {authorisation_message(text)}"
    return f"{snapshot.namespace}: {text} (code {error.code})."
