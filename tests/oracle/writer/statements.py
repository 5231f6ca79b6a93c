"""Payloads of the simplest form, for tests of the bytes around them.

Tests of rows write these as bytes; `write_mutation` takes whole mutations as values.
"""

from collections.abc import Sequence
from uuid import UUID

from tests.oracle.reference.mutation import HAS_ROW_ESTIMATE
from tests.oracle.reference.rows import HAS_ALL_COLUMNS, HAS_TIMESTAMP, USE_ROW_TIMESTAMP
from tests.oracle.writer.numbers import be32, uvint, vbytes


def mutation(*updates: bytes) -> bytes:
    """Payload of some updates, in the format of versions 6 to 8."""
    return uvint(len(updates)) + b"".join(updates)


def update(table_id: UUID, items: bytes, columns: Sequence[bytes] = (b"v",)) -> bytes:
    """Update of the partition `a`, all bases at their epoch; `items` are rows and markers."""
    names = uvint(len(columns)) + b"".join(vbytes(name) for name in columns)
    head = table_id.bytes + vbytes(b"a") + bytes([HAS_ROW_ESTIMATE]) + uvint(0) * 3
    return head + names + uvint(1) + items + b"\x01"


def insert(clustering: int, value: bytes) -> bytes:
    """Row with an int as its clustering and one text cell that is as old as the row."""
    flags = bytes([HAS_TIMESTAMP | HAS_ALL_COLUMNS])
    cell = bytes([USE_ROW_TIMESTAMP]) + vbytes(value)
    return flags + uvint(0) + be32(clustering) + uvint(9) + cell
