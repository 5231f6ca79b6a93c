"""Only replica copies of an event are dropped."""

import json
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.reconcile.selected_tables import drop_replica_copies
from spark_jobs.source.cells import read_cells
from spark_jobs.source.events import events
from tests.support.spark.recorded import three_copies
from tests.support.spark.records import Record, event_id, frame, headers_of

CELLS = {"kind": "row", "id": "t", "pk": "aw==", "token": 1, "ck": "", "ckv": []}
NAMED = CELLS | {"cell": [{"col": "cells", "ts": 1, "val": "e30="}]}
ATTEMPTS = [CELLS | {"del": {"ts": 5, "ldt": second}} for second in (7, 8)]
MEMBERS_OF_THE_SAME_NAME: list[Any] = [
    {"cells": {"kind": "row"}},
    {"cells": '"cells":{"kind":"row"}}'},
    {"cells": None, "note": 'a \\ and "cells":'},
]
OTHER_FORMATS = [
    '{"cells" : {"kind":"row"}, "op":"i"}',
    "no JSON",
    '{"op":"i"}',
    '{"after":{"cells":null}}',
    '{"schema":{"name":"a"},"payload":{"op":"i","cells":{"kind":"row"}}}',
]


def text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def copy(number: int, cells: dict[str, Any], *, position: int = 0, after: Any = None) -> Record:
    """The event as the agent writes it at this position."""
    value = text({"source": {"pos": position}, "after": after, "cells": cells})
    headers = headers_of(event_id(number), position=position)
    return Record(headers, value.encode(), offset=9 - position)


def test_replica_copies_and_nothing_else_are_dropped(spark: SparkSession) -> None:
    """Copies differ in their source alone; attempts of a statement also in local deletion times."""
    records = [
        *(copy(1, CELLS, position=at) for at in range(3)),
        *(copy(2, each) for each in ATTEMPTS * 2),
        Record(headers_of(event_id(3)), None),
        *(copy(10 + at, NAMED, after=each) for at, each in enumerate(MEMBERS_OF_THE_SAME_NAME)),
        *(
            Record(headers_of(event_id(20 + at)), each.encode())
            for at, each in enumerate(OTHER_FORMATS)
        ),
    ]
    found = drop_replica_copies(events(frame(spark, records)))
    assert sorted((row["value"], row["offset"]) for row in found.collect()) == sorted(
        [
            (text({"cells": CELLS}), 7),
            *((text({"cells": each}), 9) for each in ATTEMPTS),
            *[(text({"cells": NAMED}), 9)] * len(MEMBERS_OF_THE_SAME_NAME),
            *((each, 0) for each in OTHER_FORMATS),
        ]
    )


def test_the_events_are_the_same_without_replica_copies(spark: SparkSession) -> None:
    records = three_copies(["5.0/three-nodes"])
    all_events = events(frame(spark, records))
    ours = read_cells(drop_replica_copies(all_events)).collect()
    assert len(ours) < len(records) / 2
    assert set(ours) == set(read_cells(all_events).collect())
