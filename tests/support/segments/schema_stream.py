"""Reading segments with nothing but what stands in them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commitlog import EventFormat, Schema, SchemaChanges, SegmentReader
from tests.support.segments.skipping_reader import SkippingReader

FORMAT = EventFormat(topic_prefix="dump", cluster="lab", node_id="node-1", all_tables=True)
NOTHING = Schema.from_cql("")


@dataclass(frozen=True)
class Read:
    """The result of reading several segments."""

    lines: list[dict[str, Any]]
    schema: Schema
    """The schema at the end."""
    left_out: int
    """Updates of unknown tables."""


def dumped(segments: Iterable[Path], schema: Schema, *, follow: bool = True) -> Read:
    """The canonical dump of segments in turn; `follow`: with what they say of the schema."""
    lines: list[dict[str, Any]] = []
    left_out = 0
    for segment in segments:
        reader = SegmentReader(str(segment))
        while True:
            chunk = reader.dump(schema, stop_at_changes=follow)
            lines += [json.loads(line) for line in chunk.splitlines()]
            changes = reader.schema_changes
            if changes is not None:
                schema = schema.with_changes(changes)
            elif not chunk:
                break
        assert reader.gaps == []
        left_out += reader.skipped.get("unknown_table", 0)
    return Read(lines, schema, left_out)


def changes_in(segments: Iterable[Path]) -> list[SchemaChanges]:
    """Everything that segments say of the schema, a change a record, in their order."""
    found = []
    for segment in segments:
        reader = SkippingReader(SegmentReader(str(segment)))
        stop = ""
        while stop != "end":
            batch, blocked = reader.read(NOTHING, FORMAT, complete=True)
            assert blocked is None, blocked.reason
            if batch.schema_changes is not None:
                found.append(batch.schema_changes)
            stop = batch.stop
    return found
