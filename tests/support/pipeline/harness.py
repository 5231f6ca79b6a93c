"""A pipeline over fakes that a test drives turn by turn, and can kill at any of them."""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, cast

from agent.config.model import AgentProperties
from agent.metrics import AgentMetrics
from agent.pipeline.context import PipelineParts, PipelineSettings
from agent.pipeline.pipeline import Pipeline
from agent.pipeline.read_attempts import ReadAttempts
from agent.pipeline.reader import OpenReader
from agent.pipeline.schema_changes import SchemaAnnouncer
from agent.pipeline.view import View
from agent.quarantine.quarantine import Quarantine
from agent.schema.history import AnnouncementStore
from agent.segments.offsets import offsets_from_entries
from agent.snapshot.snapshot import Snapshot
from agent.transfer.transfer import ArchiveTransfer, Transfer
from commitlog import EventFormat, Schema
from sidecar.metrics import DeliveryMetrics
from sidecar.schema_registry.registrar import Registrar
from tests.support.node.fake_watermarks import FakeWatermarkNode
from tests.support.pipeline.fakes import FakeClock, FakeSchema, FakeStore, InlineExecutor, Raw
from tests.support.sinks.memory_sink import MemorySink

NODE_ID = "node-1"


class PipelineHarness:
    """Everything that outlives the agent's process, and the process."""

    def __init__(
        self,
        directory: Path,
        *,
        window_max_events: int = 40,
        batch_max_events: int = 10,
        quarantine_max_bytes: int = 1_000_000,
        blocked_timeout_ms: int = 60_000,
        deletes_at_bytes: int | None = None,
        sink: MemorySink | None = None,
        open_reader: OpenReader | None = None,
        schema: Schema | None = None,
        poll_interval_ms: int = 10_000,
        make_worker: Callable[[], Executor] = InlineExecutor,
        registrar: Registrar | None = None,
        snapshot: Snapshot | None = None,
        waits_when_denied: bool = True,
        schema_topic: tuple[EventFormat, str] | None = None,
        watermark_interval_ms: int | None = None,
    ) -> None:
        """`open_reader` and `schema`: over real segments instead of fakes; `make_worker`: another
        one than that works at once; `schema_topic`: format and topic of schema changes;
        `watermark_interval_ms`: None sends no watermarks."""
        self.schema_topic = schema_topic
        self.attempts: ReadAttempts | None = None
        self.announcements = AnnouncementStore(directory, NODE_ID)
        self.make_worker = make_worker
        self.registrar = registrar
        self.snapshot = snapshot
        self.snapshot_store = FakeStore()
        self.raw = Raw(directory / "cdc_raw")
        self.relocation = directory / "relocation"
        properties = AgentProperties.model_construct(
            inflight_max_events=window_max_events,
            inflight_max_bytes=1_000_000,
            poll_interval_ms=poll_interval_ms,
            offset_flush_interval_ms=0,
            blocked_timeout_ms=blocked_timeout_ms,
            access_denied_action="wait" if waits_when_denied else "exit",
        )
        self.settings = PipelineSettings(
            properties,
            cdc_raw_directory=self.raw.directory,
            deletes_at_bytes=deletes_at_bytes,
            batch_max_events=batch_max_events,
        )
        self.clock = FakeClock()
        self.node = FakeWatermarkNode(self.clock)
        self.watermark_interval_ms = watermark_interval_ms
        self.open_reader = open_reader or self.raw.open
        self.schema = FakeSchema(schema or self.raw.schema("ks.t"))
        self.store = FakeStore()
        self.sink = sink or MemorySink()
        self.quarantine = Quarantine(self.relocation / "error", quarantine_max_bytes, "1.2.3")
        self.transfer: Transfer = ArchiveTransfer(self.relocation)
        self.delivered: list[str] = []
        """Everything that sinks took, over all runs of the agent."""
        self.start()

    def start(
        self, executor: Executor | None = None, clock: Callable[[], float] | None = None
    ) -> None:
        """`executor`: the worker, in place of a new one; `clock`: a real one."""
        self.metrics = AgentMetrics(DeliveryMetrics("agent", "1.2.3"))
        self.pipeline = Pipeline(
            self.settings,
            PipelineParts(
                open_reader=self.open_reader,
                attempts=self.attempts,
                schema=cast(Any, self.schema),
                sink=self.sink,
                store=self.store,
                ledger=offsets_from_entries(self.store.values, NODE_ID),
                transfer=self.transfer,
                quarantine=self.quarantine,
                metrics=self.metrics,
                snapshot=self.snapshot,
                snapshot_store=self.snapshot_store,
                registrar=self.registrar,
                announcer=self._announcer(),
                watermark=self.node.parts(self.watermark_interval_ms)
                if self.watermark_interval_ms is not None
                else None,
            ),
            executor=executor or self.make_worker(),
            clock=clock or self.clock,
        )

    def _announcer(self) -> SchemaAnnouncer | None:
        if self.schema_topic is None:
            return None
        event_format, topic = self.schema_topic
        return SchemaAnnouncer(event_format, topic, self.announcements, metrics=self.metrics)

    def kill(self, sink: MemorySink | None = None) -> None:
        """What SIGKILL leaves: nothing of the process, and what the sink took may be lost or not.
        The watch is ended, which the kernel does for a process."""
        self.end()
        self.collect()
        self.sink = sink or MemorySink(automatic=self.sink.automatic)
        self.start()

    def end(self) -> None:
        """Nothing of the process is left; what the sink took is."""
        self.pipeline.loop.abandon()

    def look(self) -> None:
        """The watch saw something."""
        self.pipeline.context.scanner.request()

    def tick(self) -> bool:
        """One turn, as if everything that changed had rung."""
        self.look()
        return self.pipeline.tick()

    def settle(self, turns: int = 200) -> None:
        """Turns until nothing is to do."""
        self.look()
        for _ in range(turns):
            if not self.pipeline.tick():
                return
        raise AssertionError("it never comes to rest")

    def acknowledge(self, numbers: Sequence[int] | None = None) -> None:
        """The sink acknowledges these events, or all that wait."""
        self.sink.acknowledge(numbers)
        self.settle()

    def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.settle()

    def collect(self) -> list[str]:
        """The identities of all events that arrived, in order."""
        self.delivered += [
            (message[2] or b"").decode().strip('"') for _, message in self.sink.messages
        ]
        self.sink.messages.clear()
        return self.delivered

    @property
    def view(self) -> View:
        return self.pipeline.view

    @property
    def leave_error(self) -> str:
        """All errors of quarantine, requeue and removal; empty without one."""
        view = self.view
        errors = (view.record_error, view.retry_error, view.removal_error)
        return " ".join(each for each in errors if each)

    @property
    def phases(self) -> list[str]:
        return [segment.phase.value for segment in self.view.all_segments()]

    def ranges(self, segment_id: int) -> Any:
        """The lost ranges in the reason file of a quarantined segment."""
        path = self.quarantine.directory / f"CommitLog-7-{segment_id}.log.reason.json"
        return json.loads(path.read_text())["ranges"]

    def archived(self) -> set[str]:
        return _names(self.relocation / "archive")

    def quarantined(self) -> set[str]:
        return _names(self.relocation / "error")


def _names(directory: Path) -> set[str]:
    return {file.name for file in directory.iterdir()} if directory.exists() else set()


MakeHarness = Callable[..., PipelineHarness]
