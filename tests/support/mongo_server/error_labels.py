"""The labels that a member adds to errors, by which drivers decide what to do next.

The rules are those of `src/mongo/db/error_labels.cpp` of the server, read and not copied.
"""

from tests.support.mongo_server.errors import RESUMABLE, RETRYABLE
from tests.support.mongo_server.wire import Document

_ENDS = ("commitTransaction", "abortTransaction")
_NO_SUCH_TRANSACTION = 251
# LockTimeout, WriteConflict, SnapshotTooOld, SnapshotUnavailable, PreparedTransactionInProgress
_TRANSIENT = {24, 112, 239, 246, 267}


def error_labels(
    name: str,
    body: Document,
    code: int | None,
    *,
    concern_code: int | None = None,
    is_before_cursor: bool = False,
) -> set[str]:
    """Labels of a reply to the command `name`.

    `code` is that of the error, `concern_code` that of its `writeConcernError`.
    `is_before_cursor` says that the command failed before it reached its cursor.
    """
    labels = set[str]()
    is_stream = name in ("aggregate", "getMore")
    if is_stream and code in RESUMABLE and not is_before_cursor:
        labels.add("ResumableChangeStreamError")
    is_in_transaction = "autocommit" in body
    if is_in_transaction and _is_transient(name, code, concern_code is not None):
        labels.add("TransientTransactionError")
    is_retryable = "txnNumber" in body and (not is_in_transaction or name in _ENDS)
    if is_retryable and (code in RETRYABLE or concern_code in RETRYABLE):
        labels.add("RetryableWriteError")
    return labels


def _is_transient(name: str, code: int | None, has_concern_error: bool) -> bool:
    if code in _TRANSIENT:
        return True
    if name in _ENDS:
        return code == _NO_SUCH_TRANSACTION and not has_concern_error
    return code in RETRYABLE or code == _NO_SUCH_TRANSACTION
