"""Fetches undecoded `SELECT` pages over CQL, which `commitlog.SnapshotEncoder` decodes.

It is the only module of this package that imports the untyped `cassandra-driver`.
"""

from typing import Any

from cassandra.cluster import ExecutionProfile
from cassandra.policies import FallthroughRetryPolicy
from cassandra.protocol import ProtocolHandler, ResultMessage

__all__ = ["RawPages", "page_body", "page_profile"]

_TIMEOUT_S = 60.0
_NO_ROWS = b"\0\0\0\0"


class _RawRows(ResultMessage):  # type: ignore[misc]  # the driver is untyped
    """A rows result with a single value: the undecoded bytes after the metadata."""

    def recv_results_rows(self, f: Any, _version: Any, user_types: Any, *_: Any) -> None:
        self.recv_results_metadata(f, user_types)
        self.column_names: list[str] = []
        self.column_types: list[Any] = []
        self.parsed_rows = [f.read()]


class RawPages(ProtocolHandler):  # type: ignore[misc]  # the driver is untyped
    """The `client_protocol_handler` for sessions whose statements use `page_profile`."""

    message_types_by_opcode = {  # noqa: RUF012  # defined by the driver
        **ProtocolHandler.message_types_by_opcode,
        ResultMessage.opcode: _RawRows,
    }


def page_profile(load_balancing_policy: Any) -> ExecutionProfile:
    """Creates an execution profile for undecoded pages. The driver does not retry, because the
    caller retries failed pages."""
    return ExecutionProfile(
        load_balancing_policy=load_balancing_policy,
        retry_policy=FallthroughRetryPolicy(),
        request_timeout=_TIMEOUT_S,
        row_factory=_unchanged,
    )


def page_body(result: Any) -> bytes:
    """Returns the bytes of a `ResultSet` after its metadata: the row count and the cells."""
    return bytes(result.current_rows[0]) if result.current_rows else _NO_ROWS


def _unchanged(_names: Any, rows: Any) -> Any:
    return rows
