"""Watermarks of the topics, and which of them a consumer has reached.

The broker acknowledged the events of a watermark before the agent sent the watermark. So the events
precede all end offsets that are read after the watermark. Each watermark is stored with such end
offsets, and applies to a consumer that has reached them.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from pydantic import TypeAdapter
from pyspark.sql import SparkSession

from sidecar.errors import ConfigError
from spark_jobs.errors import CheckpointError
from spark_jobs.reconcile.store import Offsets
from spark_jobs.reconcile.store.commits import offsets_from_json
from spark_jobs.storage import Folder
from spark_jobs.watermarks.table_watermark import TableWatermark

MAX_PENDING = 100
"""Maximum number of watermarks that wait for a consumer. Then every second one is dropped."""
_FORMAT = 1

Watermarks = Mapping[str, TableWatermark]
"""Watermarks by table."""
STATE_FILE = "watermarks.json"


@dataclass(frozen=True, slots=True)
class Pending:
    """Watermarks, and end offsets of the topics that were read after them."""

    ends: Offsets
    tables: Watermarks
    """The watermarks of tables that have not reached later watermarks."""

    def is_passed(self, table: str, offsets: Offsets) -> bool:
        """Whether a table with these offsets contains everything up to its watermark."""
        if table not in self.tables:
            return False
        # If no topic has the table's name, its events may be in a topic with a different name.
        ends = _of_table(self.ends, table)
        return bool(ends) and is_reached(ends, offsets)


@dataclass(frozen=True, slots=True)
class WatermarkState:
    in_topics: Watermarks = field(default_factory=dict)
    consumed: Watermarks = field(default_factory=dict)
    pending: tuple[Pending, ...] = ()
    """Ordered by their offsets."""

    def published(self, tables: Watermarks, ends: Offsets) -> "WatermarkState":
        """The state after an evaluation. `ends` must be read after the messages."""
        # A table that is never reached must not displace the watermarks of other tables.
        waiting = self.pending
        if len(waiting) >= MAX_PENDING:
            # Keeps the oldest and the newest watermarks.
            waiting = (waiting[0], *waiting[1::2])
        return replace(self, in_topics=tables, pending=(*waiting, Pending(ends, tables)))

    def reached(self, offsets: Mapping[str, Offsets]) -> "WatermarkState":
        """The state after each table has read its topics up to its offsets."""
        consumed, pending = dict(self.consumed), list(self.pending)
        for table, reached in offsets.items():
            passed = [at for at, each in enumerate(pending) if each.is_passed(table, reached)]
            if passed:
                consumed[table] = pending[passed[-1]].tables[table]
                for at, each in enumerate(pending[: passed[-1] + 1]):
                    left = {name: one for name, one in each.tables.items() if name != table}
                    pending[at] = replace(each, tables=left)
        waiting = [each for each in pending if not offsets or offsets.keys() & each.tables.keys()]
        return replace(self, consumed=consumed, pending=tuple(waiting))


_STATE = TypeAdapter(WatermarkState)


def _of_table(ends: Offsets, table: str) -> Offsets:
    """The end offsets of a table's topics. A consumer need not read the topics of other tables."""
    return {topic: each for topic, each in ends.items() if topic.endswith(f".{table}")}


def is_reached(ends: Offsets, offsets: Offsets) -> bool:
    """Whether a consumer at `offsets` has read everything before `ends`."""
    return all(
        offsets.get(topic, {}).get(partition, 0) >= end
        for topic, partitions in ends.items()
        for partition, end in partitions.items()
    )


def offsets_of_commit(text: str | None) -> Offsets:
    """The member `offsets` of the JSON in a commit of a version store or a typed table.

    Empty for any other text, and for the first half of a batch, whose new rows follow in a second
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
    """Parse `state_to_json`. Raises ValueError, KeyError or TypeError for any other text."""
    document: dict[str, Any] = json.loads(text)
    if document["format"] != _FORMAT:
        raise ValueError(f"format {document['format']}")
    # A member that is missing would become its default.
    if missing := {each.name for each in fields(WatermarkState)} - document.keys():
        raise KeyError(", ".join(sorted(missing)))
    return _STATE.validate_python(document)


def read_watermarks(session: SparkSession, state: str) -> WatermarkState:
    """The watermarks of the job's last run. `state` is its folder.

    Raises `ConfigError` if there are none, `CheckpointError` if they are not readable.
    """
    found = load_state(Folder(session, state), state)
    if found is None:
        raise ConfigError(
            f"watermarks: {state} has no {STATE_FILE}. Use the `state` of spark_jobs.watermarks, "
            "and run that job first."
        )
    return found


def load_state(folder: Folder, uri: str) -> WatermarkState | None:
    """Load the state from a folder; None if there is none. Raises `CheckpointError`."""
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
