"""Segments that tests write byte by byte: which rows they have, and which rows arrived."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.agent_cli.site import write_segment
from tests.faults.files_place import Place

Row = tuple[int, int]
"""Segment id and clustering of a row of `ks.t` (`tests.agent_cli.site`)."""


def put_written(place: Place, sections: Iterable[Sequence[bytes]], segment_id: int) -> Path:
    """A complete segment. Its index comes first, as the agent may run."""
    path = write_segment(place.folder, segment_id, sections)
    for name in (f"{path.stem}_cdc.idx", path.name):
        (place.folder / name).rename(place.cdc_raw / name)
    return place.cdc_raw / path.name


def arrived_rows(file: Path) -> list[Row]:
    """Rows that a file sink has written, in order."""
    found = []
    with file.open("rb") as lines:
        for line in map(json.loads, lines):
            segment_id = int(line["headers"]["cdc.source"].rsplit("/", 3)[1])
            found.append((segment_id, int(line["value"]["after"]["c"]["value"])))
    return found
