"""Segments that tests write byte by byte: what Cassandra's own reader finds in them, and which rows
arrived."""

import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.acceptance.faults.filesystem_harness import FilesystemHarness
from tests.acceptance.faults.recorded import events_of
from tests.support.agents.agent_directory import TABLE_ID, write_segment
from tests.support.servers.java_reader import dump_segments

_COPIES = "written"

Row = tuple[int, int]
"""Segment id and clustering of a row of `ks.t` (`tests.support.agents.agent_directory`)."""


def put_written(
    harness: FilesystemHarness, sections: Iterable[Sequence[bytes]], segment_id: int
) -> Path:
    """A complete segment, offered in the order of a node: a hard link, the index, and then the
    node's own name goes. An index without its segment would mean that the segment was deleted. The
    judge has a copy."""
    path = write_segment(harness.folder, segment_id, sections)
    copies = harness.folder / _COPIES
    copies.mkdir(exist_ok=True)
    shutil.copyfile(path, copies / path.name)
    linked = harness.cdc_raw / path.name
    linked.hardlink_to(path)
    idx = f"{path.stem}_cdc.idx"
    (harness.folder / idx).rename(harness.cdc_raw / idx)
    path.unlink()
    return linked


def expect_written(harness: FilesystemHarness, at_once: int) -> None:
    """Reads the copies with Cassandra's reader, `at_once` at a time, and expects its events."""
    paths = sorted((harness.folder / _COPIES).iterdir())
    for first in range(0, len(paths), at_once):
        dump = dump_segments(paths[first : first + at_once], harness.schema)
        assert dump.errors == ()
        assert dump.unknown == {}
        harness.expected += events_of(dump.ndjson, {str(TABLE_ID)})


def arrived_rows(file: Path) -> list[Row]:
    """Rows that a file sink has written, in order."""
    found = []
    with file.open("rb") as lines:
        for line in map(json.loads, lines):
            segment_id = int(line["headers"]["cdc.source"].rsplit("/", 3)[1])
            found.append((segment_id, int(line["value"]["after"]["c"]["value"])))
    return found
