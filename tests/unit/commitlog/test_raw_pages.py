"""Rows of a CQL result stay bytes, in each version of the protocol."""

from types import SimpleNamespace

import pytest
from cassandra import ProtocolVersion
from cassandra.policies import RoundRobinPolicy
from cassandra.protocol import ResultMessage
from cassandra.query import tuple_factory

from commitlog.raw_pages import RawPages, page_body, page_profile

ROWS = bytes.fromhex("00000002 00000001 ff 00000000")
"""Two rows of one blob each."""
_KIND_ROWS, _KIND_VOID = b"\0\0\0\2", b"\0\0\0\1"
_MORE_PAGES_AND_GLOBAL_TABLE = b"\0\0\0\3"
_TEXTS = b"".join(len(text).to_bytes(2, "big") + text for text in (b"k", b"t", b"v"))
_BLOB = b"\0\3"
PAGE = (
    _KIND_ROWS
    + _MORE_PAGES_AND_GLOBAL_TABLE
    + (1).to_bytes(4, "big")
    + (4).to_bytes(4, "big")
    + b"next"
    + _TEXTS
    + _BLOB
    + ROWS
)


@pytest.mark.parametrize("version", [ProtocolVersion.V3, ProtocolVersion.V4, ProtocolVersion.V5])
def test_page_is_bytes_after_metadata(version: int) -> None:
    found = RawPages.decode_message(version, {}, 0, 0, ResultMessage.opcode, PAGE, None, None)
    rows = page_profile(RoundRobinPolicy()).row_factory(found.column_names, found.parsed_rows)
    assert (page_body(SimpleNamespace(current_rows=rows)), found.paging_state) == (ROWS, b"next")


def test_result_without_rows_is_empty_page() -> None:
    found = RawPages.decode_message(
        ProtocolVersion.V4, {}, 0, 0, ResultMessage.opcode, _KIND_VOID, None, None
    )
    assert found.parsed_rows is None
    assert page_body(SimpleNamespace(current_rows=[])) == b"\0\0\0\0"


def test_driver_does_not_retry_pages() -> None:
    policy = RoundRobinPolicy()
    profile = page_profile(policy)
    assert profile.load_balancing_policy is policy
    assert profile.row_factory is not tuple_factory
    outcome, _ = profile.retry_policy.on_read_timeout(None, 1, 1, 1, True, 0)
    assert outcome == profile.retry_policy.RETHROW
