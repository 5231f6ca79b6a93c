"""Errors that stop the snapshot of a table, and the reasons why replicas fail to read a page.

The codes come from `org.apache.cassandra.exceptions.RequestFailureReason`. Protocols before
version 5, as in Cassandra 3.11, have no codes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sidecar.errors import UnavailableError


class RejectedTableError(Exception):
    """The node rejects the statement; the message comes from the node."""


class MaskedTableError(RejectedTableError):
    """A `SELECT` of the table returns masks; the message contains the GRANT of UNMASK."""


class PostponedTableError(Exception):
    """A schema registry rejects the schemas of this table; other tables can be copied."""


class TableReadError(UnavailableError):
    """Replicas failed to read this table; the message lists their reasons. `is_lasting`: a later
    attempt is likely to fail, too."""

    def __init__(self, message: str, *, is_lasting: bool) -> None:
        super().__init__(message)
        self.is_lasting = is_lasting


class ReplicasMissingError(UnavailableError):
    """Too few replicas answer for the consistency level; the message contains their number."""


class ReplicasDownError(ReplicasMissingError):
    """Too few replicas are up, so the node queried none."""


@dataclass(frozen=True, slots=True)
class FailureReason:
    name: str
    remedy: str = "See the logs of these nodes."
    is_lasting: bool = True


_REPAIR = "See the logs of these nodes, for instance about a damaged SSTable."
_UNKNOWN = FailureReason("UNKNOWN", _REPAIR)
REASONS: Mapping[int, FailureReason] = MappingProxyType(
    {
        0: _UNKNOWN,
        1: FailureReason(
            "READ_TOO_MANY_TOMBSTONES",
            "Compact the table after gc_grace_seconds, or raise tombstone_failure_threshold.",
        ),
        2: FailureReason("TIMEOUT", is_lasting=False),
        3: FailureReason("INCOMPATIBLE_SCHEMA", is_lasting=False),
        4: FailureReason("READ_SIZE", "Raise local_read_size_fail_threshold."),
        5: FailureReason("NODE_DOWN", is_lasting=False),
        6: FailureReason("INDEX_NOT_AVAILABLE", is_lasting=False),
        7: FailureReason("READ_TOO_MANY_INDEXES"),
        8: FailureReason("NOT_CMS", is_lasting=False),
        9: FailureReason("INVALID_ROUTING", is_lasting=False),
        10: FailureReason("COORDINATOR_BEHIND", is_lasting=False),
        11: FailureReason("RETRY_ON_DIFFERENT_TRANSACTION_SYSTEM", is_lasting=False),
        503: FailureReason("INDEX_BUILD_IN_PROGRESS", is_lasting=False),
    }
)


def read_failure(answer: Any) -> TableReadError:
    """Creates the error of a `cassandra.ReadFailure`, with the code of each replica."""
    codes: Mapping[str, int] = answer.error_code_map or {}
    reasons = {code: REASONS.get(code, _UNKNOWN) for code in sorted(set(codes.values()))}
    by_code = [
        f"{reason.name} (code {code}) at {', '.join(sorted(a for a in codes if codes[a] == code))}"
        for code, reason in reasons.items()
    ]
    found = list(reasons.values()) or [_UNKNOWN]
    cause = "; ".join(by_code) or "the node reports no reason, because protocol 4 has no codes"
    return TableReadError(
        f"{answer.failures} of {answer.required_responses} replicas failed: {cause}. "
        + " ".join(dict.fromkeys(reason.remedy for reason in found)),
        is_lasting=any(reason.is_lasting for reason in found),
    )
