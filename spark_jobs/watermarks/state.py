"""Watermarks of the topics, and which of them a consumer has reached. Pure.

A watermark is about Kafka. The broker acknowledged its events before the agent sent it. So they are
before all end offsets that anyone asks for after reading the watermark. Each watermark is stored
with such end offsets, and holds for a consumer at or after them.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pyspark.sql import SparkSession

from sidecar.errors import ConfigError
from spark_jobs.errors import CheckpointError
from spark_jobs.reconcile.store import Offsets
from spark_jobs.reconcile.store.commits import offsets_from_json
from spark_jobs.storage import Folder
from spark_jobs.watermarks.table_watermark import RangeWatermark, TableWatermark

MAX_PENDING = 100
"""Watermarks that wait for a consumer. Beyond them every second one is dropped."""
_FORMAT = 1

Watermarks = Mapping[str, TableWatermark]
"""By table."""
STATE_FILE = "watermarks.json"


@dataclass(frozen=True, slots=True)
class Pending:
    """Watermarks, and the end offsets of the topics when they were known."""

    ends: Offsets
    tables: Watermarks
    """Of the tables that have not reached later ones."""

    def is_passed(self, table: str, offsets: Offsets) -> bool:
        """Whether a table with these offsets has everything up to its watermark."""
        if table not in self.tables:
            return False
        # Without a topic of its name, the events may be in one with another name.
        ends = _of_table(self.ends, table)
        return bool(ends) and is_reached(ends, offsets)

    def without(self, table: str) -> "Pending":
        left = {name: each for name, each in self.tables.items() if name != table}
        return replace(self, tables=left)


@dataclass(frozen=True, slots=True)
class WatermarkState:
    in_topics: Watermarks = field(default_factory=dict)
    consumed: Watermarks = field(default_factory=dict)
    pending: tuple[Pending, ...] = ()
    """In the order of their offsets."""

    def published(self, tables: Watermarks, ends: Offsets) -> "WatermarkState":
        """After an evaluation. `ends` were asked for after the messages were read."""
        # A table that is never reached must not displace what the others wait for.
        waiting = self.pending
        if len(waiting) >= MAX_PENDING:
            # The oldest and the newest stay.
            waiting = (waiting[0], *waiting[1::2])
        return replace(self, in_topics=tables, pending=(*waiting, Pending(ends, tables)))

    def reached(self, offsets: Mapping[str, Offsets]) -> "WatermarkState":
        """After each table has everything of its topics up to its offsets."""
        consumed, pending = dict(self.consumed), list(self.pending)
        for table, reached in offsets.items():
            passed = [at for at, each in enumerate(pending) if each.is_passed(table, reached)]
            if passed:
                count = passed[-1] + 1
                consumed[table] = pending[passed[-1]].tables[table]
                pending[:count] = (each.without(table) for each in pending[:count])
        waiting = [each for each in pending if not offsets or offsets.keys() & each.tables.keys()]
        return replace(self, consumed=consumed, pending=tuple(waiting))


def _of_table(ends: Offsets, table: str) -> Offsets:
    """Those of the topics of a table. A consumer need not read the topics of others."""
    return {topic: each for topic, each in ends.items() if topic.endswith(f".{table}")}


def is_reached(ends: Offsets, offsets: Offsets) -> bool:
    """Whether a consumer at `offsets` has read everything before `ends`."""
    return all(
        offsets.get(topic, {}).get(partition, 0) >= end
        for topic, partitions in ends.items()
        for partition, end in partitions.items()
    )


def offsets_of_commit(text: str | None) -> Offsets:
    """The member `offsets` of the JSON in a commit, as a version store and typed tables have it.

    Empty for another text, and for the first half of a batch, whose new rows follow in another
    commit.
    """
    try:
        document = json.loads(text or "{}")
        is_half = document.get("part") == "merge"
        return {} if is_half else offsets_from_json(document.get("offsets") or {})
    except (AttributeError, TypeError, ValueError):
        return {}


def state_to_json(state: WatermarkState) -> str:
    return json.dumps({"format": _FORMAT, **asdict(state)})


def state_from_json(text: str) -> WatermarkState:
    """Raises ValueError, KeyError or TypeError for another text."""
    document: dict[str, Any] = json.loads(text)
    if document["format"] != _FORMAT:
        raise ValueError(f"format {document['format']}")
    return WatermarkState(
        _watermarks(document["in_topics"]),
        _watermarks(document["consumed"]),
        tuple(
            Pending(offsets_from_json(each["ends"]), _watermarks(each["tables"]))
            for each in document["pending"]
        ),
    )


def _watermarks(document: Mapping[str, Any]) -> Watermarks:
    return {
        table: TableWatermark(
            table,
            tuple(
                RangeWatermark(**{**one, "missing": tuple(one["missing"])})
                for one in each["ranges"]
            ),
        )
        for table, each in document.items()
    }


def read_watermarks(session: SparkSession, state: str) -> WatermarkState:
    """The watermarks of the last run of the job. `state` is its folder.

    Raises `ConfigError` if the folder has none, `CheckpointError` if they are not readable.
    """
    found = load_state(Folder(session, state), state)
    if found is None:
        raise ConfigError(
            f"watermarks: {state} has no {STATE_FILE}. Name the `state` of spark_jobs.watermarks, "
            "and run it first."
        )
    return found


def load_state(folder: Folder, uri: str) -> WatermarkState | None:
    """The state in a folder; None if it has none. Raises `CheckpointError`."""
    if not folder.exists(STATE_FILE):
        return None
    try:
        return state_from_json(folder.read_text(STATE_FILE))
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(
            f"{uri}/{STATE_FILE} is not a state of spark_jobs.watermarks ({error!r}). Remove it, "
            "and set `baseline.ms` to the time up to which the tables are known to be complete."
        ) from error


def store_state(folder: Folder, state: WatermarkState) -> None:
    folder.write_text(STATE_FILE, state_to_json(state))
