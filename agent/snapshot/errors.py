"""Errors that stop the snapshot of a table."""

from sidecar.errors import UnavailableError


class RejectedTableError(Exception):
    """The node rejects the statement; the message is the node's."""


class MaskedTableError(RejectedTableError):
    """A `SELECT` of the table returns masks; the message has the statement that grants UNMASK."""


class PostponedTableError(Exception):
    """A schema registry rejects the schemas of this table; others can be copied."""


class TableReadError(UnavailableError):
    """Replicas failed to read this table; the message has their reasons.

    `is_lasting`: a later attempt is likely to fail, too.
    """

    def __init__(self, message: str, *, is_lasting: bool) -> None:
        super().__init__(message)
        self.is_lasting = is_lasting


class ReplicasMissingError(UnavailableError):
    """The consistency level needs more replicas than answer; the message has their number."""


class ReplicasDownError(ReplicasMissingError):
    """Too few replicas are up, so none was asked."""
