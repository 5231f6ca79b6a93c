"""Offsets of Debezium's connector for Cassandra, converted to the agent's.

`commitlog_offset.properties` has an entry `keyspace.table=SEGMENT:POSITION` for each table: all
its events up to there are acknowledged. A position is the logical end of a mutation, as ours is.
The agent has one offset for all tables, so it starts at the lowest. It sends again what the
connector sent after that, with the same event ids.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from agent.cdc_raw.names import SegmentName, parse_log_name
from agent.segments.offsets import SegmentOffsets
from sidecar.errors import ConfigError

FILE = "commitlog_offset.properties"


@dataclass(frozen=True, slots=True, order=True)
class TableOffset:
    segment: SegmentName
    position: int
    table: str


def table_offsets(entries: Mapping[str, str]) -> tuple[TableOffset, ...]:
    """Sorted, the lowest first. Raises ConfigError for an entry that is not an offset."""
    return tuple(sorted(_offset(table, value) for table, value in entries.items()))


def offsets_from_debezium(
    offsets: Collection[TableOffset], present: Collection[SegmentName], node_id: str
) -> SegmentOffsets:
    """Starts at the lowest offset; `present` segments before it are completed. Raises ConfigError
    without an offset."""
    if not offsets:
        raise ConfigError(f"{FILE} has no offset. Check --from.")
    lowest = min(offsets)
    found = SegmentOffsets(node_id).advanced(lowest.segment, lowest.position)
    for name in sorted(present):
        if name < lowest.segment:
            found = found.finished(name)
    return found


def _offset(table: str, value: str) -> TableOffset:
    file, _, position = value.rpartition(":")
    segment = parse_log_name(file)
    if segment is None or not (position.isascii() and position.isdigit()):
        raise ConfigError(
            f"{FILE}: the entry `{table}={value}` is not `keyspace.table=SEGMENT:POSITION`."
        )
    return TableOffset(segment, int(position), table)
