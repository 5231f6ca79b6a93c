"""Progress of Debezium's connector for Cassandra, taken over as a ledger.

Its file `commitlog_offset.properties` has an entry `keyspace.table=SEGMENT:POSITION` a table:
everything of that table up to there is acknowledged. A position is the logical end of a mutation,
as ours is. The agent has one position for all tables, so it begins at the lowest of them: what the
connector would still have sent is sent, and what is sent a second time carries the same event id.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from agent.cdc_raw import SegmentName, parse_log_name
from agent.segments import SegmentOffsets
from sidecar.errors import ConfigError

FILE = "commitlog_offset.properties"


@dataclass(frozen=True, slots=True, order=True)
class TableOffset:
    """Up to where one table is done."""

    segment: SegmentName
    position: int
    table: str


def table_offsets(entries: Mapping[str, str]) -> tuple[TableOffset, ...]:
    """The lowest first. Raises ConfigError for entries that are none."""
    return tuple(sorted(_offset(table, value) for table, value in entries.items()))


def offsets_from_debezium(
    offsets: Collection[TableOffset], present: Collection[SegmentName], node_id: str
) -> SegmentOffsets:
    """The ledger that begins at the lowest offset; `present` are the segments in `cdc_raw`, of
    which the older ones are done. Raises ConfigError when there is no offset."""
    if not offsets:
        raise ConfigError(f"{FILE} has no offset, so there is nothing to take over.")
    lowest = min(offsets)
    ledger = SegmentOffsets(node_id).advanced(lowest.segment, lowest.position)
    for name in sorted(present):
        if name < lowest.segment:
            ledger = ledger.finished(name)
    return ledger


def _offset(table: str, value: str) -> TableOffset:
    file, _, position = value.rpartition(":")
    segment = parse_log_name(file)
    if segment is None or not (position.isascii() and position.isdigit()):
        raise ConfigError(
            f"{FILE} has the entry {table}={value}, which is no segment with a position."
        )
    return TableOffset(segment, int(position), table)
