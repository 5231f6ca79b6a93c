"""Queries the facts that a watermark needs, on a dedicated thread, because the node may be slow."""

import calendar
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from agent.config.node_settings import NodeSettings
from agent.node.connection import NodeConnection, NodeFacts
from agent.node.settings import release_of, running_settings
from agent.snapshot.connection import PageConnection
from agent.snapshot.ring import Ring, TokenRange, replica_ranges
from sidecar.errors import AccessDeniedError, ConfigError, SidecarError
from sidecar.logs import fields
from sidecar.process.lifecycle import Worker

logger = logging.getLogger(__name__)

PENDING_HINTS = "system_views.pending_hints"
_FIRST_WITH_INDEXES = 4
_FIRST_WITH_HINTS = (4, 1)
_LAG_PER_PERIOD = 1.5
"""Cassandra stops acknowledging writes when a sync is late by this much
(`DatabaseDescriptor#getPeriodicCommitLogSyncBlock`)."""
_SHORTEST_LAG_MS = 1000
_DEFAULT_PERIOD_MS = 10_000.0


@dataclass(frozen=True, slots=True)
class Replication:
    """Keyspaces with the same replication, and the ranges that this node replicates."""

    keyspaces: tuple[str, ...]
    options: Mapping[str, str]
    """As in `system_schema.keyspaces`."""
    ranges: tuple[TokenRange, ...]


@dataclass(frozen=True, slots=True)
class PendingHints:
    """Hints that this node keeps for another node; times in milliseconds."""

    host_id: str
    files: int
    oldest_ms: int
    newest_ms: int


@dataclass(frozen=True, slots=True)
class NodeProbe:
    """The answers of the node to one probe."""

    asked_at_ms: int
    """Time before the first query: the node was running at this time or later."""
    generation: int
    """`gossip_generation`, which grows with each start of the node."""
    host_id: str
    sync_lag_ms: int
    loses_end: bool
    """Whether the node acknowledges writes before it syncs them."""
    tables: tuple[str, ...]
    """Published tables, as `keyspace.table`."""
    replication: tuple[Replication, ...]
    hints: tuple[PendingHints, ...] | None
    """None if unknown."""


class NodeProber:
    """Queries one node. Not thread-safe."""

    def __init__(
        self,
        connection: PageConnection,
        settings: NodeSettings | None,
        sync_lag_ms: int | None,
        *,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        """`settings` come from `cassandra.config`; `sync_lag_ms` is the configured lag."""
        self._connection = connection
        self._settings = settings
        self._sync_lag_ms = sync_lag_ms
        self._now_ms = now_ms
        self._generation: int | None = None
        self._has_hints = True
        self._ranges: dict[tuple[Ring, tuple[tuple[str, str], ...]], tuple[TokenRange, ...]] = {}

    def probe(self) -> NodeProbe:
        """Probes the node. Raises SidecarError if the node does not answer or denies a query."""
        connection, asked_at_ms = self._connection, self._now_ms()
        (row,) = connection.rows("SELECT gossip_generation FROM system.local")
        generation = int(row["gossip_generation"])
        if generation != self._generation:
            self._begin(connection.facts())
        settings = self._settings
        assert settings is not None
        ring = connection.ring()
        self._has_hints &= ring.release[:2] >= _FIRST_WITH_HINTS
        tables = [table for table in connection.tables() if table.is_published]
        probe = NodeProbe(
            asked_at_ms=asked_at_ms,
            generation=generation,
            host_id=ring.host_id,
            sync_lag_ms=_sync_lag_ms(settings, self._sync_lag_ms),
            loses_end=settings.commitlog_sync == "periodic",
            tables=tuple(sorted(table.full_name for table in tables)),
            replication=self._replication(ring, sorted({table.keyspace for table in tables})),
            hints=self._hints(),
        )
        self._generation = generation
        return probe

    def close(self) -> None:
        self._connection.close()

    def _begin(self, facts: NodeFacts) -> None:
        """Reads settings after a start of the node, which may change settings and permissions."""
        self._has_hints = True
        if release_of(facts) < _FIRST_WITH_INDEXES:
            raise ConfigError(
                f"Cassandra {facts.release_version} moves a segment into cdc_raw when it is full, "
                "at a time that the agent does not know. Remove watermark.topic, or upgrade to 4.0."
            )
        try:
            self._settings = running_settings(self._connection, facts) or self._settings
        except AccessDeniedError:
            if self._settings is None:
                raise

    def _replication(self, ring: Ring, keyspaces: list[str]) -> tuple[Replication, ...]:
        by_options: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for keyspace in keyspaces:
            options = tuple(sorted(self._connection.replication(keyspace).items()))
            by_options.setdefault(options, []).append(keyspace)
        known = self._ranges
        self._ranges = {
            (ring, options): known[ring, options]
            if (ring, options) in known
            else replica_ranges(ring.nodes, ring.host_id, dict(options))
            for options in by_options
        }
        return tuple(
            Replication(tuple(names), dict(options), self._ranges[ring, options])
            for options, names in by_options.items()
        )

    def _hints(self) -> tuple[PendingHints, ...] | None:
        """Queries pending hints; returns None before 4.1 and without permission."""
        if not self._has_hints:
            return None
        try:
            return pending_hints(self._connection)
        except AccessDeniedError as error:
            # Do not repeat the rejected query before the node's next start.
            self._has_hints = False
            logger.info(
                "watermarks contain no hints: the agent's role cannot read them",
                extra=fields(table=PENDING_HINTS, reason=str(error)),
            )
            return None


def pending_hints(connection: NodeConnection) -> tuple[PendingHints, ...]:
    """Queries pending hints. Raises the errors of `NodeConnection.rows`."""
    rows = connection.rows(f"SELECT host_id, files, oldest, newest FROM {PENDING_HINTS}")
    return tuple(
        PendingHints(
            str(row["host_id"]),
            int(row["files"]),
            _milliseconds(row["oldest"]),
            _milliseconds(row["newest"]),
        )
        for row in rows
    )


def _milliseconds(time_utc: datetime) -> int:
    """Converts a time from the driver, which is UTC without a time zone."""
    return calendar.timegm(time_utc.timetuple()) * 1000 + time_utc.microsecond // 1000


def _sync_lag_ms(settings: NodeSettings, configured_ms: int | None) -> int:
    if configured_ms is not None:
        return configured_ms
    if settings.commitlog_sync != "periodic":
        return 0
    period_ms = settings.commitlog_sync_period_ms
    lag_ms = _LAG_PER_PERIOD * (_DEFAULT_PERIOD_MS if period_ms is None else period_ms)
    return max(_SHORTEST_LAG_MS, round(lag_ms))


ProbeResult = NodeProbe | SidecarError


class NodeWatch:
    """Runs one probe at a time. The pipeline's thread calls `request` and `take`."""

    def __init__(self, prober: NodeProber, wake: Callable[[], None]) -> None:
        """The thread calls `wake` when a probe is done."""
        self._prober = prober
        self._wake = wake
        self._requested = threading.Event()
        self._result: ProbeResult | None = None
        self._worker = Worker("watermark", self._work)

    def start(self) -> None:
        self._worker.start()

    def close(self) -> None:
        """Stops the thread; a hanging query continues until the process exits."""
        self._requested.set()
        self._worker.stop()
        if not self._worker.is_alive:
            self._prober.close()

    def request(self) -> None:
        self._result = None
        self._requested.set()

    def take(self) -> ProbeResult | None:
        """Returns the result of the requested probe once; None while the probe runs."""
        result, self._result = self._result, None
        return result

    def _work(self, stopped: threading.Event) -> None:
        while True:
            self._requested.wait()
            self._requested.clear()
            if stopped.is_set():
                return
            try:
                self._result = self._prober.probe()
            except SidecarError as error:
                self._result = error
            self._wake()
