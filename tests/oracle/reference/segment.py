"""A whole segment: header, sections, records, mutations."""

import gzip
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.oracle.reference.descriptor import read_descriptor
from tests.oracle.reference.errors import (
    CorruptSegmentError,
    MalformedError,
    StaleSchemaError,
    UnsupportedSegmentError,
)
from tests.oracle.reference.model import Update
from tests.oracle.reference.mutation import UnknownColumnError, UnknownTableError, read_mutation
from tests.oracle.reference.records import read_records
from tests.oracle.reference.schema import Schema
from tests.oracle.reference.sections import NO_KEYS, read_sections

VERSIONS = (6, 7, 8, 9)
"""Commit-log versions whose payload this package reads.

6 is written by 3.0 and 3.11, 7 by 4.x and by 5.0 as configured at first, 8 by 5.0 in mode NONE,
9 by 6.0.
"""


def read_segment(
    source: Path | bytes,
    name: str,
    schema: Schema,
    skipped: Counter[str] | None = None,
    keys: Mapping[str, bytes] = NO_KEYS,
) -> Iterator[Update]:
    """The partition updates of a segment, in file order.

    `source` is the file (gzipped if it ends with `.gz`) or its bytes; `name` is the name of the
    segment. A mutation with a table that `schema` lacks is skipped as a whole, as by Cassandra's
    own reader. `skipped` counts skipped records and other skipped parts by reason. `keys` are those
    of encrypted segments, by alias.

    Raises CorruptSegmentError, UnsupportedSegmentError or StaleSchemaError at the first unreadable
    position. The updates before it are correct; bytes after the last marker of the chain are never
    read.
    """
    data = source if isinstance(source, bytes) else read_bytes(source)
    tally = Counter[str]() if skipped is None else skipped
    descriptor = read_descriptor(data, name)
    if descriptor.version not in VERSIONS:
        what = f"commit-log version {descriptor.version}, known are {VERSIONS}"
        raise UnsupportedSegmentError(name, 0, what)
    for section in read_sections(data, descriptor, keys):
        for record in read_records(section, name, tally):
            try:
                mutation = read_mutation(record.payload, descriptor.version, schema)
            except UnknownTableError as unknown:
                tally[f"unknown table {unknown.table_id}"] += 1
                continue
            except UnknownColumnError as unknown:
                table = f"{unknown.table.keyspace}.{unknown.table.name}"
                what = f"column {unknown.column!r} is not in the schema of {table}"
                raise StaleSchemaError(name, record.start, what) from unknown
            except MalformedError as error:
                what = f"payload, {error}"
                raise CorruptSegmentError(name, record.start, what) from error
            for index, partition in enumerate(mutation):
                yield Update(name, record.end, index, len(mutation), partition)


def read_bytes(path: Path) -> bytes:
    """Bytes of a segment file, decompressed if its name ends with `.gz`."""
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data
