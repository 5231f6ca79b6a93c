"""What stands in the way of a copy.

RefusedTableError        the node does not take the statement for a table
PostponedTableError      a schema registry does not take the schemas of a table
UnavailableError
└── ReplicasMissingError the consistency level asks for more replicas than answer
"""

from sidecar.errors import UnavailableError


class RefusedTableError(Exception):
    """The node does not take the statement; the message is its own."""


class PostponedTableError(Exception):
    """The table cannot be copied for now, and others can; the message says why."""


class ReplicasMissingError(UnavailableError):
    """The consistency level asks for more replicas than answer; the message counts them."""
