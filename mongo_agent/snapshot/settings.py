"""Settings of snapshots."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from mongo_agent.capture.namespaces import Namespaces
from sidecar.fetch_size import FetchSize

SnapshotMode = Literal["initial", "no_data", "initial_only", "always", "when_needed"]

_REPLY_BYTES = 4 << 20
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SnapshotSettings:
    """The agent reads `threads` chunks in parallel (`snapshot.max.threads`).

    A chunk has about `chunk_size` documents (`incremental.snapshot.chunk.size`), at most twice as
    many, and about `chunk_bytes`. A reply holds at most `fetch_size` documents
    (`snapshot.fetch.size`; 0: as many as fit into about 4 MiB). `filters` are queries in extended
    JSON by `database.collection` (`snapshot.collection.filter.overrides`). `chosen` selects
    collections of automatic snapshots (`snapshot.include.collection.list`). Reads start after
    `delay_ms` (`snapshot.delay.ms`). Without `has_index_bounds` the server has no `min` and `max`,
    and no causal reads.
    """

    mode: SnapshotMode = "initial"
    threads: int = 1
    chunk_size: int = 1024
    chunk_bytes: int = 16 << 20
    fetch_size: int = 0
    filters: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    chosen: Namespaces = field(default_factory=Namespaces)
    delay_ms: int = 0
    has_index_bounds: bool = True

    @property
    def first_size(self) -> FetchSize:
        """The size of the first reply of a collection."""
        # One more document than a chunk has at most marks the start of the rest.
        limit = self.fetch_size or 2 * self.chunk_size + 1
        return FetchSize(_REPLY_BYTES, limit, rows=self.fetch_size or 1)
