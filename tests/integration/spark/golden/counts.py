"""The outcomes of the statements of a run."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from cassandra import (
    InvalidRequest,
    OperationTimedOut,
    ReadFailure,
    ReadTimeout,
    Unavailable,
    WriteFailure,
    WriteTimeout,
)
from cassandra.cluster import NoHostAvailable

from tests.oracle.merge.writes import Write

_UNANSWERED = (
    *(OperationTimedOut, ReadTimeout, WriteTimeout, ReadFailure, WriteFailure),
    *(Unavailable, NoHostAvailable),
)


@dataclass(slots=True)
class Counts:
    """The outcomes of the statements."""

    written: int = 0
    rejected: int = 0
    """Statements with an index that a list does not have."""
    unanswered: Counter[str] = field(default_factory=Counter)
    """Statements with a timeout or failure, by error. They may be written or not."""

    def record(self, write: Write, future: Any) -> None:
        """Wait for the answer to a write and count it."""
        try:
            future.result()
            self.written += 1
        except InvalidRequest:
            if not write.may_be_rejected:
                raise
            self.rejected += 1
        except _UNANSWERED as error:
            self.unanswered[f"{type(error).__name__}: {error}"[:200]] += 1
