"""Benchmark segments, written once by Cassandra's own commit log and cached."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.harness import progress_bar
from commitlog import EventFormat, Schema, SegmentReader
from tests.support.servers.cache import cached_directory
from tests.support.servers.java_reader import write_segments
from tests.support.servers.keystore import make_keystore


@dataclass(frozen=True)
class SegmentSet:
    """What to write: `count` full segments, whose mutations each write one row of three cells.

    A mutation is `value_bytes` + 79 bytes long.
    """

    name: str
    segment_mib: int
    count: int
    value_bytes: int
    compressor: str | None = None
    encrypted: bool = False


@dataclass(frozen=True)
class WrittenSegments:
    """The files of a set; `sizes` are the sizes of the segments in bytes."""

    segment_set: SegmentSet
    directory: Path
    segments: tuple[Path, ...]
    mutations: int

    @property
    def schema(self) -> Path:
        return self.directory / "schema.cql"

    @property
    def keystore(self) -> Path | None:
        """The keystore with which Cassandra encrypted the segments."""
        return self.directory / "keystore" if self.segment_set.encrypted else None

    @property
    def file_bytes(self) -> int:
        return sum(segment.stat().st_size for segment in self.segments)


def written(segment_set: SegmentSet) -> WrittenSegments:
    """Return the set from the cache; write it first if it is missing."""
    wanted = segment_set
    shape = f"{wanted.segment_mib}mib-{wanted.count}x-{wanted.value_bytes}b"
    framing = "encrypted" if wanted.encrypted else wanted.compressor or "plain"
    name = f"bench/segments/{shape}-{framing}"

    def write(target: Path) -> None:
        keystore = make_keystore(target / "keystore") if wanted.encrypted else None
        mutations = write_segments(
            target,
            segment_mib=wanted.segment_mib,
            count=wanted.count,
            value_bytes=wanted.value_bytes,
            seed=1,
            compressor=wanted.compressor,
            keystore=keystore,
        )
        (target / "mutations").write_text(str(mutations))

    with progress_bar(f"writing segments: {wanted.name}"):
        directory = cached_directory(name, write)
    # Only segments with mutations have an index file.
    indexed = sorted(directory.glob("*_cdc.idx"))
    segments = tuple(index.with_name(index.name.replace("_cdc.idx", ".log")) for index in indexed)
    return WrittenSegments(wanted, directory, segments, int((directory / "mutations").read_text()))


Message = tuple[Any, ...]
"""A message of `EventBatch.messages`: topic, key, value, headers, partition hash."""


def messages(
    schema_file: Path, segments: Iterable[Path], prefix: str, node_id: str
) -> Iterator[Message]:
    """The agent's messages for the events of these segments."""
    schema = Schema.from_cql(schema_file.read_text())
    event_format = EventFormat(topic_prefix=prefix, cluster="bench", node_id=node_id)
    for segment in segments:
        reader = SegmentReader(str(segment))
        while True:
            batch = reader.read(schema, event_format, complete=True)
            yield from batch.messages(0, len(batch))
            if batch.stop == "end":
                break
