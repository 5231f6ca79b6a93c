"""The schema of the pipeline: merged over time, refreshed periodically and on demand."""

import logging
import threading
import time
from collections.abc import Callable

from agent.schema.history import SchemaHistory
from agent.schema.source import KnownSchema, NodeIdentity, SchemaFeeder
from agent.schema.write_options import WriteOptions
from commitlog import Schema, SchemaChanges
from sidecar.errors import AccessDeniedError, ConfigError, UnavailableError
from sidecar.logs import RateLimitedLog, fields
from sidecar.process.wait_policy import RetryPause

logger = logging.getLogger(__name__)

_MISS_INTERVAL_S = 0.5
_MISS_WAIT_S = 2.0
_FIRST_RETRY_S = 1.0
_LONGEST_RETRY_S = 10.0
_CLOSE_S = 5.0
_FIRST_ANSWER_S = 15.0
"""How long the agent waits for the first fetch before it uses a stored schema."""
MAX_DROPPED_TABLES = 4096


class ReplacedNodeError(ConfigError):
    """A different node, or a node of a different cluster, answers at the agent's address."""

    def __init__(self, before: NodeIdentity, now: NodeIdentity, where: str) -> None:
        super().__init__(
            f"{where} is node {now.node_id} of cluster {now.cluster_name}; the agent started with "
            f"node {before.node_id} of cluster {before.cluster_name}. If the node was replaced, "
            "stop the agent, run `agent offsets reset --snapshots` with the same configuration and "
            "start the agent; otherwise correct cassandra.hosts."
        )


class SchemaHolder:
    """Fetches the schema on a dedicated thread. All methods are thread-safe.

    Merges fetched schemas and changes from the log, so that tables and columns stay known, because
    segments outlive the schema with which they were written. Replaces the schema object only if it
    changes, so callers can compare by identity.
    """

    def __init__(
        self,
        feeder: SchemaFeeder,
        history: SchemaHistory,
        *,
        refresh_interval_ms: int,
        waits_when_denied: bool = True,
    ) -> None:
        """`waits_when_denied`: whether to retry if the node rejects the agent at the first fetch.
        Otherwise the rejection is `fatal`."""
        self._waits_when_denied = waits_when_denied
        self._retry = RetryPause(_FIRST_RETRY_S, _LONGEST_RETRY_S)
        self._retry_pause_s = 0.0
        self._feeder = feeder
        self._history = history
        self._refresh_interval_s = refresh_interval_ms / 1000
        known = history.load()
        self._schema = known.schema if known is not None else None
        self.identity = known.identity if known is not None else None
        """The node of the schema; None before the first schema."""
        self._handed_out = self._schema
        self.write_options: WriteOptions | None = None
        """Options from the latest successful fetch; None before it."""
        self.last_error: str | None = None
        """Why the latest fetch failed; None after a success."""
        self.fatal: Exception | None = None
        """The error that stopped fetching, or None."""
        self._repeated = RateLimitedLog(logger)
        self._changed = threading.Condition()
        self._merging = threading.Lock()
        self._fetched: Schema | None = None
        self.on_change: Callable[[], None] = lambda: None
        """Called on the fetching thread after each change."""
        self.on_identity: Callable[[NodeIdentity], None] = lambda identity: None
        """Called on the fetching thread when the node reports a new identity or location."""
        self._reported: tuple[str | None, ...] = ()
        self._has_answered = False
        self._fetches = 0
        self._is_fetching = False
        self._is_wanted = True
        self._wanted_for = ""
        self._is_stopping = False
        self._last_fetch_s: float | None = None
        self._begun_s = time.monotonic()
        self._claimed: NodeIdentity | None = None
        self._thread = threading.Thread(target=self._run, name="schema", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stops the thread; a blocked fetch continues until the process exits."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(_CLOSE_S)
        if not self._thread.is_alive():
            self._feeder.close()

    def current(self) -> Schema | None:
        """Returns the schema for the reader; None before the first schema."""
        with self._changed:
            self._handed_out = self._schema
            return self._schema

    def latest(self) -> Schema | None:
        """Returns the schema for other uses; does not affect the result of `refresh`."""
        with self._changed:
            return self._schema

    def absorb(self, changes: SchemaChanges) -> None:
        """Merges changes from the log and stores them, before the offset passes their position."""
        with self._merging:
            known, identity = self._schema, self.identity
            if known is None or identity is None:
                return
            merged = self._bounded(known.with_changes(changes))
            if merged == known:
                return
            self._history.save(KnownSchema(merged, identity))
            with self._changed:
                self._schema = merged
                self._changed.notify_all()
        logger.info(
            "the schema has changed",
            extra=fields(
                tables=len(merged),
                source="the commit log",
                keyspaces=", ".join(sorted(set(changes.keyspaces))),
            ),
        )

    @property
    def table_count(self) -> int:
        with self._changed:
            return len(self._schema) if self._schema is not None else 0

    def refresh(self, reason: str) -> bool:
        """Requests an immediate fetch, because `reason` shows that the schema is outdated. Waits at
        most two seconds, and not at all just after a fetch. Returns True if the schema is newer
        than the latest result of `current`."""
        with self._changed:
            if reason != self._wanted_for:
                # A waiting caller repeats the request every second.
                self._wanted_for = reason
                logger.info("reading the schema on demand", extra=fields(reason=reason))
            self._is_wanted = True
            self._changed.notify_all()
            if not self._has_just_fetched():
                target = self._fetches + (2 if self._is_fetching else 1)
                self._changed.wait_for(
                    lambda: self._fetches >= target or self._is_over(), timeout=_MISS_WAIT_S
                )
            return self._schema is not self._handed_out

    def wait_until_known(self, timeout_s: float) -> bool:
        """Waits for the first schema; raises the error that stopped fetching. Accepts a stored
        schema only after the first fetch has failed or taken 15 s, because the node may have been
        replaced. Once it returns True, the node's identity must not change."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_usable() or self._is_over(), timeout=timeout_s)
            if self.fatal is not None:
                raise self.fatal
            if not self._is_usable():
                return False
            self._claimed = self.identity
            return True

    def _is_usable(self) -> bool:
        if self._schema is None:
            return False
        return self._fetches > 0 or time.monotonic() - self._begun_s >= _FIRST_ANSWER_S

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._is_over() and (wait_s := self._seconds_to_next()) > 0:
                    self._changed.wait(wait_s)
                if self._is_over():
                    return
                self._is_wanted = False
                self._is_fetching = True
            self._fetch()

    def _fetch(self) -> None:
        fetched: KnownSchema | None = None
        error: str | None = None
        fatal: Exception | None = None
        try:
            fetched = self._feeder.fetch()
            self._require_same_node(fetched.identity)
        except UnavailableError as unavailable:
            error = str(unavailable)
        except Exception as cause:
            error = str(cause)
            # A node that has answered before may accept the agent again.
            may_wait = isinstance(cause, AccessDeniedError) and self._waits_when_denied
            is_final = isinstance(cause, ReplacedNodeError) or not (self._has_answered or may_wait)
            fatal = cause if is_final else None
            fetched = None
        self._log_outcome(error)
        if error is None:
            self._retry.succeeded()
        with self._merging:
            self._history.save_again()
            merged = self._merge(fetched)
            with self._changed:
                self._has_answered = self._has_answered or fetched is not None
                has_changed = merged is not self._schema
                self._schema = merged
                if fetched is not None:
                    self.identity = fetched.identity
                    self.write_options = fetched.write_options
                self.last_error, self.fatal = error, fatal
                self._retry_pause_s = 0.0 if error is None else self._retry.failed()
                self._fetches += 1
                self._is_fetching = False
                self._last_fetch_s = time.monotonic()
                self._changed.notify_all()
        if fetched is not None:
            self._report(fetched.identity)
        if has_changed and merged is not None:
            logger.info(
                "the schema has changed",
                extra=fields(tables=len(merged), source=self._feeder.description),
            )
            self.on_change()

    def _report(self, identity: NodeIdentity) -> None:
        now = (identity.node_id, identity.cluster_name, identity.datacenter, identity.rack)
        if now != self._reported:
            self._reported = now
            self.on_identity(identity)

    def _require_same_node(self, identity: NodeIdentity) -> None:
        """Raises `ReplacedNodeError`: events and offsets already contain the claimed identity."""
        with self._changed:
            claimed = self._claimed
        if claimed is None or claimed == identity:
            return
        raise ReplacedNodeError(claimed, identity, self._feeder.description)

    def _merge(self, fetched: KnownSchema | None) -> Schema | None:
        """Merges a fetched schema, and stores the result if it changed."""
        known = self._schema
        if fetched is None:
            return known
        self._fetched = fetched.schema
        if known is None or fetched.identity != self.identity:
            # The schema of a different node is useless.
            merged = fetched.schema
        else:
            merged = self._bounded(known.merged(fetched.schema))
            if merged == known:
                return known
        self._history.save(KnownSchema(merged, fetched.identity))
        return merged

    def _bounded(self, schema: Schema) -> Schema:
        if self._fetched is None or len(schema) <= len(self._fetched) + MAX_DROPPED_TABLES:
            return schema
        return schema.bounded(self._fetched, MAX_DROPPED_TABLES)

    def _log_outcome(self, error: str | None) -> None:
        if error is None:
            self._repeated.resolved("schema", "reading the schema works again")
        elif self._schema is None:
            self._repeated.log("schema", "waiting for the schema", reason=error)
        else:
            self._repeated.log("schema", "the schema cannot be refreshed", reason=error)

    def _is_over(self) -> bool:
        return self._is_stopping or self.fatal is not None

    def _has_just_fetched(self) -> bool:
        return (
            self._last_fetch_s is not None
            and not self._is_fetching
            and time.monotonic() - self._last_fetch_s < _MISS_INTERVAL_S
        )

    def _seconds_to_next(self) -> float:
        if self._last_fetch_s is None:
            return 0.0
        interval_s = self._refresh_interval_s
        if self._is_wanted:
            interval_s = _MISS_INTERVAL_S
        elif self._schema is None:
            interval_s = min(interval_s, _FIRST_RETRY_S)
        return self._last_fetch_s + max(interval_s, self._retry_pause_s) - time.monotonic()
