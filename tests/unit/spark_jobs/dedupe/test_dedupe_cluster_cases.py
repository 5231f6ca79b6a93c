"""What a real cluster does to events besides copying them: which of it has new cells.

Made of recorded events: first they as they are, then what retries, repairs and expiry add.
"""

import copy
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.dedupe.identity import with_cell_identity
from spark_jobs.source.events import events
from tests.support.segments.segment_reading import Event
from tests.support.spark.recorded import NODES, read, record
from tests.support.spark.records import frame
from tests.unit.commitlog.merge import test_recordings as cases

RECORDINGS = ("5.0/ttl", "5.0/deletions", "5.0/collections")
EventValue = dict[str, Any]


def list_attempts(values: list[EventValue]) -> Iterator[EventValue]:
    """A coordinator that retries creates new ids for the elements of a list."""
    for value in copy.deepcopy(values):
        elements = [each for each in value["cells"].get("cell", ()) if _is_time_uuid(each)]
        for cell in elements:
            cell["path"] = b64encode(bytes(8) + b64decode(cell["path"])[8:]).decode()
        if elements:
            yield value


def later_attempts(values: list[EventValue]) -> Iterator[EventValue]:
    """A coordinator that sets the write time sets another one when it retries."""
    for value in copy.deepcopy(values):
        cells = value["cells"]
        single = [cells.get("live"), cells.get("del")]
        for member in filter(None, [*single, *cells.get("cell", ()), *cells.get("cdel", ())]):
            member["ts"] += 2_000_000
        yield value


def _is_time_uuid(cell: EventValue) -> bool:
    path = b64decode(cell.get("path", ""))
    return len(path) == 16 and path[6] >> 4 == 1


Case = Callable[[list[EventValue]], Iterable[EventValue]]
DROPPED: tuple[Case, ...] = (cases.attempts, cases.bundles)
NEW: tuple[Case, ...] = (
    cases.range_pieces,
    cases.expired_as_tombstones,
    list_attempts,
    later_attempts,
)


def test_cells_of_repeated_writes_are_known_and_others_are_new(spark: SparkSession) -> None:
    recorded = [event for folder in RECORDINGS for event in read(folder, NODES[0])]
    values = [event.value for event in recorded]
    headers = recorded[0].headers
    records = [record(event, "recorded") for event in recorded]
    for case in (*DROPPED, *NEW):
        records += [record(Event("", {}, value, headers), case.__name__) for value in case(values)]
    cells: defaultdict[str, set[bytes]] = defaultdict(set)
    for row in with_cell_identity(events(frame(spark, records)), "cell").collect():
        cells[row.topic].add(bytes(row.cell))
    for case in DROPPED:
        assert cells[case.__name__] <= cells["recorded"], case
    for case in NEW:
        assert cells[case.__name__] - cells["recorded"], case
