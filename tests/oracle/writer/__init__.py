"""Writes commit-log segments for tests: the reverse of `oracle.reference`, with the same model.

    payload = write_mutation([PartitionUpdate(table, key, None, None, rows)], Form(version=9))
    written = write_segment([[payload], []], version=9, framing=LZ4)

Tests build what no node writes (a wrong flag, length or chain) from the same parts.
"""

from tests.oracle.writer.form import Bases, Form
from tests.oracle.writer.framings import (
    DIRECT_IO,
    FRAMINGS,
    LZ4,
    LZ4_LITERALS,
    PLAIN,
    Framing,
    lz4_literals,
)
from tests.oracle.writer.mutation import write_mutation
from tests.oracle.writer.numbers import be32, uvint, vbytes
from tests.oracle.writer.segment import (
    MARKER_LENGTH,
    Written,
    header,
    lz4_segment,
    marker,
    record,
    segment,
    write_segment,
)
from tests.oracle.writer.statements import insert, mutation, update

__all__ = [
    "DIRECT_IO",
    "FRAMINGS",
    "LZ4",
    "LZ4_LITERALS",
    "MARKER_LENGTH",
    "PLAIN",
    "Bases",
    "Form",
    "Framing",
    "Written",
    "be32",
    "header",
    "insert",
    "lz4_literals",
    "lz4_segment",
    "marker",
    "mutation",
    "record",
    "segment",
    "update",
    "uvint",
    "vbytes",
    "write_mutation",
    "write_segment",
]
