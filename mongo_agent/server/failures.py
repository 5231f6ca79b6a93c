"""Classification of server errors."""

from collections.abc import Iterable
from enum import Enum

RESUMABLE_LABEL = "ResumableChangeStreamError"
_RESUMABLE_CODES = frozenset(
    {6, 7, 43, 63, 89, 91, 133, 150, 189, 234, 262, 9001, 10107, 11600, 11602, 13388, 13435, 13436}
)
# Codes of wrong credentials and missing privileges.
_AUTHENTICATION, _AUTHORISATION = {11, 18, 334}, {13, 8000}


class Failure(Enum):
    """Classes of errors, each with one policy."""

    RESUMABLE = "resumable"
    """An election or a lost connection: reopen the stream after the last event."""
    AUTHENTICATION = "authentication"
    """Wrong credentials: a retry would lock the account."""
    AUTHORISATION = "authorisation"
    """A missing privilege: retry, because it can be granted meanwhile."""
    HISTORY_LOST = "history lost"
    """The oplog no longer contains the position: `history.lost.policy` decides."""
    FILTERED_TOKEN = "filtered token"
    """The pipeline removes the event of the token: reopen once by cluster time."""
    TOO_LARGE = "too large"
    """An event exceeds the document limit: reopen with split events."""
    INVALID_TOKEN = "invalid token"
    """The token has another format or belongs to another cluster."""
    NOT_SUPPORTED = "not supported"
    """The server has no change streams: a standalone, or another database."""
    OTHER = "other"
    """Retry a limited number of times with growing pauses."""


_BY_CODE = {
    20: Failure.NOT_SUPPORTED,
    40573: Failure.NOT_SUPPORTED,
    260: Failure.INVALID_TOKEN,
    280: Failure.FILTERED_TOKEN,
    532: Failure.FILTERED_TOKEN,
    286: Failure.HISTORY_LOST,
    10334: Failure.TOO_LARGE,
    **dict.fromkeys(_AUTHENTICATION, Failure.AUTHENTICATION),
    **dict.fromkeys(_AUTHORISATION, Failure.AUTHORISATION),
}


def classify_failure(code: int | None, labels: Iterable[str] = ()) -> Failure:
    """The class of an error by its code and labels; `code` is None without a server reply."""
    if code is None:
        return Failure.RESUMABLE
    known = _BY_CODE.get(code)
    if known is not None:
        return known
    if RESUMABLE_LABEL in labels or code in _RESUMABLE_CODES:
        return Failure.RESUMABLE
    return Failure.OTHER
