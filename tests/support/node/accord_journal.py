"""The recorded journal of a node of 6.0-alpha2, with the node's answers.

The statements were transactions over three tables with conditions, references to read values,
statics, collections, deletions, and ordinary statements and a batch of tables with
`transactional_mode = 'full'`. `metadata_log.json` has the statements of
`system.local_metadata_log`, `rows.json` what SELECT said in the end.
"""

import json
from pathlib import Path
from typing import Any

from commitlog import ColumnIds, EventFormat, Schema, SegmentReader
from tests.support.segments.skipping_reader import SkippingReader

FOLDER = Path(__file__).parents[2] / "fixtures/6.0-none/accord"
SEGMENT = "log-1795711176863-1-1-1.data"
WRITTEN_BYTES = 57_094
MUTATIONS = 21
_FORMAT = EventFormat(topic_prefix="test", cluster="lab", node_id="node")


def journal_bytes() -> bytes:
    return (FOLDER / SEGMENT).read_bytes()


def schema_change(keyspace: str, statement: str) -> bytes:
    """The transformation `AlterSchema` of version 9."""
    texts = b"".join(
        len(text.encode()).to_bytes(2, "big") + text.encode() for text in (keyspace, statement)
    )
    return b"\x09\x01" + texts + b"\x00"


def entries() -> list[tuple[int, int, bytes]]:
    """The schema changes of the metadata log."""
    rows = json.loads((FOLDER / "metadata_log.json").read_text())
    return [(epoch, 4, schema_change(keyspace, text)) for epoch, keyspace, text in rows]


def column_ids() -> ColumnIds:
    return ColumnIds(entries())


def schema() -> Schema:
    return Schema.from_cql((FOLDER / "schema.cql").read_text())


def answers() -> dict[str, list[dict[str, Any]]]:
    """The rows of each table, with the write times of their columns in microseconds."""
    rows: dict[str, list[dict[str, Any]]] = json.loads((FOLDER / "rows.json").read_text())
    return rows


def events_of(segment: Path) -> list[dict[str, Any]]:
    """All events of a commit-log segment."""
    reader = SkippingReader(SegmentReader(str(segment)))
    events: list[dict[str, Any]] = []
    while True:
        batch, blocked = reader.read(schema(), _FORMAT, limit=None, complete=True)
        assert blocked is None
        assert not batch.gaps
        events += [json.loads(line) for line in batch.ndjson(0, len(batch)).splitlines()]
        if batch.stop == "end":
            return events
