"""Undecoded pages of a `SELECT` over CQL, which `commitlog.SnapshotEncoder` decodes.

Only this module needs `cassandra-driver`, which is untyped.
"""

from typing import Any

from cassandra.cluster import ExecutionProfile
from cassandra.policies import FallthroughRetryPolicy
from cassandra.protocol import ProtocolHandler, ResultMessage

__all__ = ["RawPages", "page_body", "page_profile"]

_TIMEOUT_S = 60.0
_NO_ROWS = b"\0\0\0\0"


class _RawRows(ResultMessage):  # type: ignore[misc]  # the driver is untyped
    """Undecoded rows: one value, the bytes after the metadata."""

    def recv_results_rows(self, f: Any, _version: Any, user_types: Any, *_: Any) -> None:
        self.recv_results_metadata(f, user_types)
        self.column_names: list[str] = []
        self.column_types: list[Any] = []
        self.parsed_rows = [f.read()]


class RawPages(ProtocolHandler):  # type: ignore[misc]  # the driver is untyped
    """The `client_protocol_handler` of a session whose statements use `page_profile`."""

    message_types_by_opcode = {  # noqa: RUF012  # defined by the driver
        **ProtocolHandler.message_types_by_opcode,
        ResultMessage.opcode: _RawRows,
    }


def page_profile(load_balancing_policy: Any) -> ExecutionProfile:
    """A profile for statements that return undecoded pages. Their reader retries failed pages, so
    the driver does not."""
    return ExecutionProfile(
        load_balancing_policy=load_balancing_policy,
        retry_policy=FallthroughRetryPolicy(),
        request_timeout=_TIMEOUT_S,
        row_factory=_unchanged,
    )


def page_body(result: Any) -> bytes:
    """The bytes of a `ResultSet` after its metadata: the number of rows, and their cells."""
    return bytes(result.current_rows[0]) if result.current_rows else _NO_ROWS


def _unchanged(_names: Any, rows: Any) -> Any:
    return rows
