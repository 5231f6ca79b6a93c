"""What the configuration says about copies."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from mongo_agent.capture.namespaces import Namespaces

SnapshotMode = Literal["initial", "no_data", "initial_only", "always", "when_needed"]

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SnapshotSettings:
    """`threads` chunks are read at once (`snapshot.max.threads`), of about `chunk_size` documents
    each (`incremental.snapshot.chunk.size`), at most twice as many and about `chunk_bytes`.
    `fetch_size` documents come in a reply (`snapshot.fetch.size`; 0: as many as it holds).

    `filters` are queries as extended JSON by `database.collection`
    (`snapshot.collection.filter.overrides`). `chosen` are those of the captured collections that
    are copied unasked (`snapshot.include.collection.list`). Nothing is read before `delay_ms`
    (`snapshot.delay.ms`).
    """

    mode: SnapshotMode = "initial"
    threads: int = 1
    chunk_size: int = 1024
    chunk_bytes: int = 16 << 20
    fetch_size: int = 0
    filters: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    chosen: Namespaces = field(default_factory=Namespaces)
    delay_ms: int = 0
