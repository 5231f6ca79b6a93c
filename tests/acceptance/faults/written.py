"""Segments that tests write byte by byte: what Cassandra's own reader finds in them, and which rows
arrived."""

import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.acceptance.faults.files_place import Place
from tests.acceptance.faults.recorded import events_of
from tests.support.agent_directory import TABLE_ID, write_segment
from tests.support.servers.java_reader import dump_segments

_COPIES = "written"

Row = tuple[int, int]
"""Segment id and clustering of a row of `ks.t` (`tests.support.agent_directory`)."""


def put_written(place: Place, sections: Iterable[Sequence[bytes]], segment_id: int) -> Path:
    """A complete segment, offered in the order of a node: a hard link, the index, and then the
    node's own name goes. An index without its segment would mean that the segment was deleted. The
    judge has a copy."""
    path = write_segment(place.folder, segment_id, sections)
    copies = place.folder / _COPIES
    copies.mkdir(exist_ok=True)
    shutil.copyfile(path, copies / path.name)
    linked = place.cdc_raw / path.name
    linked.hardlink_to(path)
    idx = f"{path.stem}_cdc.idx"
    (place.folder / idx).rename(place.cdc_raw / idx)
    path.unlink()
    return linked


def expect_written(place: Place, at_once: int) -> None:
    """Lets Cassandra's reader read the copies, so many at once, and the place expect its events."""
    paths = sorted((place.folder / _COPIES).iterdir())
    for first in range(0, len(paths), at_once):
        dump = dump_segments(paths[first : first + at_once], place.schema)
        assert dump.errors == ()
        assert dump.unknown == {}
        place.expected += events_of(dump.ndjson, {str(TABLE_ID)})


def arrived_rows(file: Path) -> list[Row]:
    """Rows that a file sink has written, in order."""
    found = []
    with file.open("rb") as lines:
        for line in map(json.loads, lines):
            segment_id = int(line["headers"]["cdc.source"].rsplit("/", 3)[1])
            found.append((segment_id, int(line["value"]["after"]["c"]["value"])))
    return found
