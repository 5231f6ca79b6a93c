"""The labels that a member adds to errors, by which drivers decide what to do next.

The conditions are those of `src/mongo/db/error_labels.cpp`, the categories of codes those of
`src/mongo/base/error_codes.yml` in the source of the server. `NoWritesPerformed` is missing: it
matters to a retried write alone.
"""

from tests.support.mongodb.server.wire import Document

_ENDS = ("commitTransaction", "abortTransaction")
_NO_SUCH_TRANSACTION = 251
# RetriableError
_RETRIABLE = {6, 7, 89, 91, 134, 189, 262, 402, 9001, 10107, 11600, 11602, 13435, 13436}
# NeedRetargettingError: StaleEpoch, StaleConfig, and up to 6.0 StaleShardVersion
_STALE_ROUTING = {63, 150, 13388}
# FailedToSatisfyReadPreference, RetryChangeStream
_OF_STREAMS = {133, 234}
# NonResumableChangeStreamError: ChangeStreamFatalError, ChangeStreamHistoryLost
_NOT_RESUMABLE = {280, 286}
# SnapshotError: SnapshotTooOld, SnapshotUnavailable, StaleChunkHistory, MigrationConflict
_OF_SNAPSHOTS = {239, 246, 250, 272}
# LockTimeout, WriteConflict, StaleDbVersion, PreparedTransactionInProgress,
# ShardCannotRefreshDueToLocksHeld
_TRANSIENT = {24, 112, 249, 267, 343} | _OF_SNAPSHOTS | _STALE_ROUTING


def error_labels(
    name: str,
    body: Document,
    code: int | None,
    *,
    concern_code: int | None = None,
    is_on_stream: bool = False,
    is_router: bool = False,
) -> set[str]:
    """Labels of a reply to the command `name`.

    `code` is that of the error, `concern_code` that of its `writeConcernError`.
    `is_on_stream` says that the command opens a change stream or holds the cursor of one.
    """
    is_in_transaction = "autocommit" in body
    if is_in_transaction and _is_transient(name, code, concern_code is not None):
        return {"TransientTransactionError"}
    is_retryable = "txnNumber" in body and (not is_in_transaction or name in _ENDS)
    if is_retryable and not is_router and (code in _RETRIABLE or concern_code in _RETRIABLE):
        return {"RetryableWriteError"}
    if is_on_stream and code in _RETRIABLE | _STALE_ROUTING | _OF_STREAMS:
        return {"ResumableChangeStreamError"}
    return {"NonResumableChangeStreamError"} if code in _NOT_RESUMABLE else set()


def _is_transient(name: str, code: int | None, has_concern_error: bool) -> bool:
    if code in _TRANSIENT:
        return True
    if name in _ENDS:
        return code == _NO_SUCH_TRANSACTION and not has_concern_error
    return code in _RETRIABLE or code == _NO_SUCH_TRANSACTION
