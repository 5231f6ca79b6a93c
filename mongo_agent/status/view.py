"""The status of the MongoDB agent, from facts that its parts provide."""

import time
from collections.abc import Callable, Iterator, Mapping

from mongo_agent.config.model import SERVICE_NAME
from mongo_agent.metrics import MongoMetrics
from mongo_agent.pipeline.pipeline import Pipeline
from mongo_agent.pipeline.view import StreamView, View
from mongo_agent.server.monitoring import OplogMonitor
from mongo_agent.status.conditions import (
    ELECTION,
    ElectionFacts,
    Facts,
    component_name,
    status_from,
)
from sidecar.health.condition import Component, Status, component_of
from sidecar.history.recorder import Column
from sidecar.http.server import ProbeResult
from sidecar.leader_election.election import LeaderElection
from sidecar.leader_election.role import Role
from sidecar.quantities import duration_text
from sidecar.status.reporter import HISTORY_COLUMNS, StatusReporter

HISTORY = (*HISTORY_COLUMNS, Column("oplog_headroom_s", "min"))


class MongoStatus(StatusReporter[View]):
    """Reads the pipeline from other threads and never waits."""

    def __init__(
        self,
        version: str,
        metrics: MongoMetrics,
        quarantine_max_bytes: int,
        quarantine_directory: str = "quarantine",
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(SERVICE_NAME, version, metrics.delivery, clock)
        self._metrics = metrics
        self._quarantine_max_bytes = quarantine_max_bytes
        self._quarantine_directory = quarantine_directory
        self._oplog: OplogMonitor | None = None
        self._start_error = ""
        self.election: LeaderElection | None = None
        """Set with `standby.enabled`, once the agent takes part in an election."""

    def attach(self, pipeline: Pipeline, oplog: OplogMonitor) -> None:
        self._oplog = oplog
        self._pipeline = pipeline

    def detach(self) -> None:
        """Report no pipeline from now on, because the term has ended."""
        self._pipeline, self._oplog = None, None
        self._metrics.clear_gauges()

    @property
    def is_on_standby(self) -> bool:
        return self.election is not None and self.election.role is Role.STANDBY

    def wait_for(self, message: str) -> None:
        """Record why the agent cannot start; an empty string means that nothing prevents it."""
        self._start_error = message

    def server_error(self) -> str:
        """Return why the server does not answer, or an empty string."""
        if self.view is None:
            return self._start_error
        states = (stream.state for stream in self.view.streams)
        closed = (each.message for each in states if not (each.is_open or each.has_ended))
        return next(closed, "")

    def facts(self) -> Facts:
        view = self.view
        election = self.election
        known = self.service_facts() | {
            "election": None
            if election is None
            else ElectionFacts(election.group, election.role, election.error)
        }
        if view is None:
            return Facts(start_error=self._start_error, **known)
        return Facts(
            streams=view.streams,
            concerns={} if self._oplog is None else self._oplog.warnings(),
            quarantine=view.quarantine,
            quarantine_directory=self._quarantine_directory,
            **known,
        )

    def status(self) -> Status:
        return status_from(self.facts(), self.masked_causes)

    def ready(self) -> ProbeResult:
        """A standby is ready, so that a rolling update continues."""
        if self.is_on_standby:
            return ProbeResult(True, self.idle_message())
        return super().ready()

    def idle_message(self) -> str:
        if self.election is None or not self.is_on_standby:
            return ""
        return f"Standby: another agent of the group {self.election.group} delivers."

    def own_components(self, status: Status, view: View | None) -> Iterator[Component]:
        if self.election is not None:
            role = self.election.role
            details = {"role": role.value, "group": self.election.group}
            message = self.idle_message() or f"{role.value} of the group {self.election.group}"
            yield component_of(status, ELECTION, message, details)
        streams = () if view is None else view.streams
        for stream in streams:
            yield self._stream(status, stream)
        for stream in streams:
            yield _snapshot(status, stream)

    def quarantine_details(self, view: View) -> Mapping[str, object]:
        return {
            "bytes": view.quarantine.size_bytes,
            "dead_letters": view.quarantine.dead_letters,
            "gaps": view.quarantine.gaps,
            "max_bytes": self._quarantine_max_bytes,
        }

    def own_sample(self, view: View) -> Mapping[str, float]:
        found = {"quarantined": float(view.quarantine.dead_letters + view.quarantine.gaps)}
        if self._oplog is not None:
            found["oplog_headroom_s"] = self._oplog.least_headroom_s()
        return found

    def start_message(self) -> str:
        joining = "" if self.election is None else self.election.error
        return self.idle_message() or joining or self._start_error or "starting"

    def not_ready_message(self, view: View) -> str:
        if not view.streams:
            return self.start_message()
        closed = (each.state.message for each in view.streams if not each.state.is_open)
        return next(closed, "")

    def delivered_message(self, view: View) -> str:
        waiting = view.delivery.unacknowledged_events
        copying = view.remaining_collections
        also = f" Snapshots of {copying} collections are running." if copying else ""
        if not waiting:
            return "All changes that the server has reported are delivered." + also
        return (
            f"The agent delivers events; {waiting:,} wait for the sink, and the last delivered "
            f"change is {duration_text(view.lag_s)} old.{also}"
        )

    def offsets(self) -> Mapping[str, object]:
        if (view := self.view) is None:
            return {"stored": {}, "reached": {}}
        return {"stored": view.stored.values(), "reached": view.reached.values()}

    def set_gauges(self) -> None:
        if self.election is not None:
            leader = self._metrics.leader.labels(self.election.group)
            leader.set(self.election.role is Role.LEADER)
            if self.view is None:
                # A standby sends nothing, but it has a session with the broker.
                self._metrics.delivery.sink_up.set(self.is_on_standby)
        if self._oplog is not None:
            self._oplog.set_gauges(self._metrics)

    def _stream(self, status: Status, stream: StreamView) -> Component:
        details: dict[str, object] = {
            "cluster_time": str(stream.read_time),
            "age_s": round(max(0.0, time.time() - stream.read_time.second), 3),
            "reopenings": stream.state.reopenings,
        }
        if self._oplog is not None:
            details |= self._oplog.details(stream.name)
        return component_of(
            status, component_name("stream", stream.name), stream.state.message, details
        )


def _snapshot(status: Status, stream: StreamView) -> Component:
    snapshot = stream.snapshot
    message = "no snapshot is running"
    if snapshot.remaining_collections:
        message = f"{snapshot.remaining_collections} collections wait for their snapshot"
        if snapshot.remaining_s is not None:
            message += f", about {duration_text(snapshot.remaining_s)} remaining"
    elif snapshot.requests:
        message = "the agent lists the collections of a snapshot"
    elif snapshot.is_running:
        message = "the end of the snapshot is not stored yet"
    if snapshot.is_paused:
        message = "snapshots are paused; the signal `resume-snapshot` resumes them"
    details = {"is_running": snapshot.is_running, "is_paused": snapshot.is_paused}
    name = component_name("snapshot", stream.name)
    return component_of(status, name, message, details)
