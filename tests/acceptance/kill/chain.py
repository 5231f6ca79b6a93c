"""End of the chain in a killed node's segments, read by the plain Python reader."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.oracle.reference.descriptor import read_descriptor
from tests.oracle.reference.errors import CorruptSegmentError
from tests.oracle.reference.records import read_records
from tests.oracle.reference.sections import MARKER_LENGTH, Section, read_sections
from tests.support.servers.cassandra import segment_id


@dataclass(frozen=True, slots=True)
class Chain:
    """`end`: logical end of the last section. `records_behind`: whole records with valid checksums
    after it in a plain segment, which the node itself has forgotten."""

    segment_id: int
    end: int
    records_behind: int


def read_chains(commitlog: Path) -> list[Chain]:
    """Chains of all segments of a stopped node."""
    return [
        chain
        for path in sorted(commitlog.glob("CommitLog-*.log"))
        if (chain := _read_chain(path)) is not None
    ]


def _read_chain(path: Path) -> Chain | None:
    data = path.read_bytes()
    try:
        descriptor = read_descriptor(data, path.name)
    except CorruptSegmentError:
        # The segment was being created: it has no header yet.
        return None
    end = file_end = descriptor.header_length
    try:
        for section in read_sections(data, descriptor):
            end, file_end = section.end, section.file_end
    except CorruptSegmentError:
        # The kill interrupted the write of a marker.
        pass
    behind = 0
    if descriptor.compression is None:
        content_start = file_end + MARKER_LENGTH
        rest = Section(file_end, len(data), content_start, data[content_start:])
        try:
            for _ in read_records(rest, path.name, Counter()):
                behind += 1
        except CorruptSegmentError:
            pass
    return Chain(segment_id(path), end, behind)
