"""What an error of the server means to a stream, and what is done about it."""

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
    """The stream is opened again behind the last event: an election, a lost connection."""
    AUTHENTICATION = "authentication"
    """Credentials are wrong. Trying again would lock the account."""
    AUTHORISATION = "authorisation"
    """A privilege is missing; it can be granted while the agent waits."""
    HISTORY_LOST = "history lost"
    """The position is no longer in the oplog. Only the operator may give up what is missing."""
    FILTERED_TOKEN = "filtered token"
    """The event of the token does not pass the pipeline: opened again by cluster time, once."""
    TOO_LARGE = "too large"
    """An event is larger than a document may be: opened again so that events are split."""
    INVALID_TOKEN = "invalid token"
    """The token is of another form or another cluster."""
    NOT_SUPPORTED = "not supported"
    """The server has no change streams: a standalone, or another database."""
    OTHER = "other"
    """Tried again with growing pauses, a bounded number of times."""


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
    """The class of an error by its code and labels. `code` is None where no server answered."""
    if code is None:
        return Failure.RESUMABLE
    known = _BY_CODE.get(code)
    if known is not None:
        return known
    if RESUMABLE_LABEL in labels or code in _RESUMABLE_CODES:
        return Failure.RESUMABLE
    return Failure.OTHER
