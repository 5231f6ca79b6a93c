"""Published tables that were dropped. The agent notes which tables it publishes, by their ids."""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.node.connection import NodeConnection
from sidecar.offsets.properties_store import PropertiesStore

FILE = "published_tables.properties"
"""In `offset.backing.store.dir`: names by table id, and for dropped tables `ID.dropped`, when that
was noticed, in milliseconds."""

_NOTICED = ".dropped"


@dataclass(frozen=True, slots=True)
class Drop:
    """A table that the agent published, and that the node no longer has."""

    name: str
    """`keyspace.table`."""
    noticed_ms: int
    """After the last write to the table."""


def read_table_ids(connection: NodeConnection) -> frozenset[str]:
    """The ids of all tables of the node. Raises as `NodeConnection`."""
    return frozenset(
        str(row["id"]) for row in connection.rows("SELECT id FROM system_schema.tables")
    )


class PublishedTables:
    """What the agent has published. Raises `OffsetStoreError` and `OffsetSaveError`."""

    def __init__(self, directory: Path) -> None:
        self._store = PropertiesStore(directory, FILE)

    def note(self, published: Mapping[str, str], present: Collection[str]) -> None:
        """The published tables by id, and the ids of all tables of the node."""
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
        """All drops, by table."""
        known = self._store.load().values
        for table_id in _ids(known):
            noticed = known.get(table_id + _NOTICED)
            if noticed is not None:
                yield Drop(known[table_id], int(noticed))


def _ids(known: Iterable[str]) -> list[str]:
    return sorted(each for each in known if not each.endswith(_NOTICED))


def _now_ms() -> str:
    return str(time.time_ns() // 1_000_000)
