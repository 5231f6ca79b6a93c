"""Errors that stop the snapshot of a table.

RejectedTableError       the node rejects the statement for a table
PostponedTableError      a schema registry rejects the schemas of a table
UnavailableError
└── ReplicasMissingError the consistency level needs more replicas than answer
"""

from sidecar.errors import UnavailableError


class RejectedTableError(Exception):
    """The node rejects the statement; the message is the node's."""


class PostponedTableError(Exception):
    """This table cannot be copied now, and others can; the message says why."""


class ReplicasMissingError(UnavailableError):
    """The consistency level needs more replicas than answer; the message has their number."""
