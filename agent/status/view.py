"""The status of the Cassandra agent: gathers facts from its parts."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from agent.cdc_raw.quota import Quota, time_to_full_s
from agent.check.publication import Publication
from agent.check.unlogged import UnloggedWrites, unlogged_writes
from agent.config.model import SERVICE_NAME, AgentProperties
from agent.metrics import AgentMetrics
from agent.pipeline.pipeline import Pipeline
from agent.pipeline.view import View
from agent.schema import SchemaHolder
from agent.segments.state import Phase
from agent.snapshot.snapshot import Snapshot
from agent.snapshot.status import set_gauges, snapshot_component, snapshot_facts
from agent.status.conditions import Facts, status_from
from agent.transfer.transfer import Backlog
from commitlog import Schema
from sidecar.health.condition import Component, Status, component_of
from sidecar.history.recorder import Column
from sidecar.quantities import duration_text, size_text
from sidecar.status.reporter import HISTORY_COLUMNS, StatusReporter

HISTORY = (
    *HISTORY_COLUMNS,
    Column("undelivered_bytes"),
    Column("cdc_raw_bytes"),
    Column("cdc_raw_limit_bytes", "last"),
)


class AgentStatus(StatusReporter[View]):
    """Reads the pipeline and the schema from other threads and never waits."""

    def __init__(
        self,
        version: str,
        properties: AgentProperties,
        holder: SchemaHolder,
        metrics: AgentMetrics,
        cdc_raw_directory: Path,
        quota: Quota,
        publication: Callable[[Schema], Publication],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`publication` returns which tables of a schema are published. `clock` is the pipeline's
        clock, in seconds."""
        super().__init__(SERVICE_NAME, version, metrics.delivery, clock)
        self._holder = holder
        self._metrics = metrics
        self._properties = properties
        self._directory = cdc_raw_directory
        self._publication = publication
        self._wake_pipeline: Callable[[], None] | None = None
        self.snapshot: Snapshot | None = None
        """None while the agent starts, and with `schema.file`."""
        self.note_quota(quota)

    def attach(self, pipeline: Pipeline, snapshot: Snapshot | None = None) -> None:
        self._pipeline = pipeline
        self._wake_pipeline = pipeline.wake
        self.snapshot = snapshot

    def note_quota(self, quota: Quota) -> None:
        """Notes the limit of `cdc_raw`. Any thread may call it."""
        self._quota = quota
        # A ratio with NaN is also NaN, and raises no alarm.
        limit_bytes = quota.limit_bytes
        self._metrics.raw_limit_bytes.set(math.nan if limit_bytes is None else limit_bytes)

    def wake(self) -> None:
        """Wakes the pipeline and the snapshot after a change of the schema."""
        self.wake_pipeline()
        if self.snapshot is not None:
            self.snapshot.scan_now()

    def wake_pipeline(self) -> None:
        """Wakes the pipeline, if there is one."""
        if self._wake_pipeline is not None:
            self._wake_pipeline()

    @property
    def raw_limit_bytes(self) -> int | None:
        """Size in bytes at which `cdc_raw` is full; None if unknown."""
        return self._quota.limit_bytes

    def raw_full_in_s(self, view: View) -> float:
        """Seconds until `cdc_raw` is full; infinite without growth, NaN if unknown."""
        return time_to_full_s(view.raw_bytes, self.raw_limit_bytes, view.raw_growth_bytes_per_s)

    def facts(self) -> Facts:
        view = self.view
        return Facts(
            tables=self._holder.table_count,
            schema_error=self._holder.last_error or "",
            cdc_raw_directory=self._directory,
            quota=self._quota,
            view=view,
            snapshot=snapshot_facts(
                self.snapshot, "" if view is None else view.snapshot_save_error
            ),
            publication=self._published(),
            unlogged=self.unlogged(),
            **self.service_facts(),
        )

    def status(self) -> Status:
        return status_from(self.facts(), self.masked_causes)

    def own_components(self, status: Status, view: View | None) -> Iterator[Component]:
        yield self._schema(status)
        if view is not None:
            yield self._raw(status, view)
            if view.backlog is not None:
                yield _transfer(status, view.backlog)
        if self.snapshot is not None:
            yield snapshot_component(status, self.snapshot)

    def quarantine_details(self, view: View) -> Mapping[str, object]:
        usage = view.quarantine
        return {
            "bytes": usage.size_bytes,
            "segments": usage.segments,
            "ranges": usage.ranges,
            "dead_letters": usage.dead_letters,
            "oldest": [*usage.available_names, *usage.missing_names],
            "max_bytes": self._properties.quarantine_max_bytes,
        }

    def own_sample(self, view: View) -> Mapping[str, float]:
        limit_bytes = self.raw_limit_bytes
        return {
            "quarantined": view.quarantine.segments,
            "undelivered_bytes": view.lag_bytes,
            "cdc_raw_bytes": view.raw_bytes,
            "cdc_raw_limit_bytes": math.nan if limit_bytes is None else limit_bytes,
        }

    def start_message(self) -> str:
        reason = self._holder.last_error
        return f"waiting for the first schema: {reason}" if reason else "starting"

    def not_ready_message(self, view: View) -> str:
        return ""

    def delivered_message(self, view: View) -> str:
        if not view.lag_bytes and not view.delivery.unacknowledged_events:
            return "All changes that the node has synced are delivered."
        return (
            f"The agent delivers events; {size_text(view.lag_bytes)} wait, and the last delivered "
            f"change is {duration_text(view.lag_s)} old."
        )

    def offsets(self) -> Mapping[str, object]:
        if (view := self.view) is None:
            return {"stored": {}, "reached": {}, "segments": []}
        return {
            "stored": view.stored.to_entries(),
            "reached": view.ledger.to_entries(),
            "segments": [
                {
                    "segment": segment.name.log,
                    "state": segment.phase.value,
                    "idx_position": segment.idx.offset,
                    "completed": segment.idx.completed,
                    "read_position": segment.read_position,
                    "acknowledged_position": segment.acknowledged_position,
                }
                for segment in view.all_segments()
            ],
        }

    def set_gauges(self) -> None:
        metrics, published = self._metrics, self._published()
        metrics.schema_tables.set(self._holder.table_count)
        metrics.published_tables.set(len(published.published) if published else math.nan)
        unlogged = self.unlogged()
        count = unlogged.table_count
        metrics.unlogged_tables.set(math.nan if count is None else count)
        metrics.set_table_unlogged(
            (each.keyspace, each.table, each.reason.value) for each in unlogged.tables
        )
        view = self.view
        metrics.raw_time_to_full_seconds.set(math.nan if view is None else self.raw_full_in_s(view))
        if self.snapshot is not None:
            set_gauges(self.snapshot, metrics)

    def unlogged(self) -> UnloggedWrites:
        """Returns published tables with writes that bypass the segments."""
        published = self._published()
        if published is None:
            return UnloggedWrites(unknown="the schema is not known yet.")
        return unlogged_writes(
            self._holder.write_options,
            published.published,
            captures_transactions=self._properties.accord_journal_enabled,
        )

    def _schema(self, status: Status) -> Component:
        tables, unlogged = self._holder.table_count, self.unlogged()
        details: dict[str, object] = {
            "tables": tables,
            "unlogged_tables": [f"{each.name}: {each.option}" for each in unlogged.tables],
        }
        if unlogged.unknown:
            details["unlogged_tables_unknown"] = unlogged.unknown
        return component_of(status, "schema", f"{tables} tables are known", details)

    def _raw(self, status: Status, view: View) -> Component:
        full_in_s = self.raw_full_in_s(view)
        details: dict[str, object] = {
            "bytes": view.raw_bytes,
            "limit_bytes": self.raw_limit_bytes,
            "time_to_full_s": round(full_in_s, 1) if math.isfinite(full_in_s) else None,
            "lag_bytes": view.lag_bytes,
            "lag_s": round(view.lag_s, 3),
            "segments": {phase.value: view.count_by_phase.get(phase, 0) for phase in Phase},
        }
        if view.other_files:
            details["no_segments"] = view.other_files[:5]
        if view.watch_error:
            details["watch"] = view.watch_error
        return component_of(status, "cdc_raw", f"{self._directory} is watched", details)

    def _published(self) -> Publication | None:
        schema = self._holder.latest()
        return None if schema is None else self._publication(schema)


def _transfer(status: Status, backlog: Backlog) -> Component:
    message = f"finished segments are in {backlog.destination}"
    if backlog.segments:
        message = (
            f"{backlog.segments} finished segments ({size_text(backlog.size_bytes)} of "
            f"{size_text(backlog.max_bytes)}) wait for {backlog.destination}"
        )
    details = {
        "segments": backlog.segments,
        "bytes": backlog.size_bytes,
        "max_bytes": backlog.max_bytes,
    }
    return component_of(status, "transfer", message, details)
