"""Errors that stop the snapshot of a table."""

from sidecar.errors import UnavailableError


class RejectedTableError(Exception):
    """The node rejects the statement; the message is the node's."""


class MaskedTableError(RejectedTableError):
    """A `SELECT` of the table returns masks; the message has the statement that grants UNMASK."""


class PostponedTableError(Exception):
    """A schema registry rejects the schemas of this table; others can be copied."""


class ReplicasMissingError(UnavailableError):
    """The consistency level needs more replicas than answer; the message has their number."""


class ReplicasDownError(ReplicasMissingError):
    """Too few replicas are up, so none was asked."""
