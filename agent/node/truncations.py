"""Detects truncations and drops of tables, which the commit log does not contain.

The node records truncations in `system.local`. The agent stores the ids of published tables, and
so detects dropped tables.
"""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import Any

from agent.node.connection import NodeConnection
from sidecar.errors import ConfigError
from sidecar.offsets.properties_store import PropertiesStore

TABLES_FILE = "published_tables.properties"
"""File in `offset.backing.store.dir`: names by table id. For dropped tables, `ID.dropped` is the
time in milliseconds at which the agent noticed the drop."""

_NOTICED = ".dropped"


@dataclass(frozen=True, slots=True)
class Drop:
    name: str
    """`keyspace.table`."""
    noticed_ms: int
    """When the agent noticed the drop, after the final write to the table."""


def read_table_ids(connection: NodeConnection) -> frozenset[str]:
    """Queries the ids of all tables on the node. Raises the errors of `NodeConnection`."""
    return frozenset(
        str(row["id"]) for row in connection.rows("SELECT id FROM system_schema.tables")
    )


class PublishedTables:
    """Tables that the agent has published. Raises `OffsetStoreError` and `OffsetSaveError`."""

    def __init__(self, directory: Path) -> None:
        self._store = PropertiesStore(directory, TABLES_FILE)

    def note(self, published: Mapping[str, str], present: Collection[str]) -> None:
        """Stores published tables by id; marks tables as dropped if their ids are not `present`."""
        known = dict(self._store.load().values)
        now = {**known, **published}
        for table_id in _ids(now):
            if table_id in present:
                now.pop(table_id + _NOTICED, None)
            else:
                now.setdefault(table_id + _NOTICED, _now_ms())
        if now != known:
            self._store.save(now)

    def dropped(self) -> Iterator[Drop]:
        """Yields all drops, ordered by table id."""
        known = self._store.load().values
        for table_id in _ids(known):
            noticed = known.get(table_id + _NOTICED)
            if noticed is not None:
                yield Drop(known[table_id], int(noticed))


def _ids(known: Iterable[str]) -> list[str]:
    return sorted(each for each in known if not each.endswith(_NOTICED))


FILE = "truncations.properties"
"""File in `offset.backing.store.dir`: acknowledged times in milliseconds by table id or name."""

# Cassandra's SystemKeyspace.truncationAsMapEntry, CommitLogPosition.serializer.
_ENTRY = Struct(">qiq")


@dataclass(frozen=True, slots=True)
class Truncation:
    """The latest TRUNCATE of a table, with the end of earlier writes in the node's commit log."""

    table_id: str
    segment_id: int
    position: int
    at_ms: int


def read_truncations(connection: NodeConnection) -> tuple[Truncation, ...]:
    """Queries truncations; omits malformed entries. Raises the errors of `NodeConnection`."""
    (row,) = connection.rows("SELECT truncated_at FROM system.local")
    return tuple(parse_truncations(row["truncated_at"] or {}))


def parse_truncations(entries: Mapping[Any, bytes]) -> Iterator[Truncation]:
    """Parses `truncated_at`, which maps table ids to blobs."""
    for table_id, entry in entries.items():
        if len(entry) == _ENTRY.size:
            yield Truncation(str(table_id), *_ENTRY.unpack(entry))


class Acknowledgements:
    """Truncations and drops that an operator, or the first start, has acknowledged. Raises
    `OffsetStoreError` and `OffsetSaveError`."""

    def __init__(self, directory: Path) -> None:
        self._store = PropertiesStore(directory, FILE)

    def begin(self, truncations: Iterable[Truncation]) -> None:
        """Acknowledges `truncations` at the first start: they precede everything published."""
        if not self._store.load().values:
            known = {each.table_id: str(each.at_ms) for each in truncations}
            self._store.save({"since": _now_ms(), **known})

    def acknowledge(self, tables: Iterable[str]) -> None:
        """Acknowledges all truncations and drops of tables (`keyspace.table`) up to now. Raises
        ConfigError before the first start."""
        known = self._store.load().values
        if not known:
            raise ConfigError(f"{self._store.path}: no agent has started with this directory.")
        self._store.save({**known, **dict.fromkeys(tables, _now_ms())})

    def open_ones(
        self, truncations: Iterable[Truncation], names: Mapping[str, str]
    ) -> dict[str, Truncation]:
        """Returns unacknowledged truncations by table; `names` maps ids to published tables. Empty
        before the first start."""
        known = self._store.load().values
        if not known:
            return {}
        return {
            name: each
            for each in truncations
            if (name := names.get(each.table_id)) is not None
            and each.at_ms > max(int(known.get(key, -1)) for key in (each.table_id, name))
        }

    def open_drops(self, drops: Iterable[Drop]) -> dict[str, Drop]:
        """Returns the drops since the latest acknowledgement of their table, by table name."""
        known = self._store.load().values
        return {
            each.name: each
            for each in sorted(drops, key=lambda each: each.noticed_ms)
            if each.noticed_ms > int(known.get(each.name, -1))
        }


def _now_ms() -> str:
    return str(time.time_ns() // 1_000_000)
