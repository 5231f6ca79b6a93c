"""The status of an agent over real parts and no pipeline."""

from pathlib import Path

from agent.cdc_raw.quota import Quota
from agent.check.publication import Publication
from agent.config.model import AgentProperties
from agent.schema import SchemaHolder
from agent.schema.history import SchemaHistory
from agent.schema.source import KnownSchema, NodeIdentity
from agent.schema.write_options import WriteOptions
from agent.snapshot.snapshot import Snapshot
from agent.status.view import AgentStatus
from commitlog import Schema
from sidecar.errors import UnavailableError
from sidecar.health.condition import Component
from tests.support.agents.agent_directory import SCHEMA
from tests.support.pipeline.fakes import Raw
from tests.support.pipeline.harness import PipelineHarness
from tests.support.sinks.memory_sink import MemorySink


class Feeder:
    """A schema source that the test sets; None is an unavailable node."""

    description = "the test"

    def __init__(self) -> None:
        self.schema: Schema | None = Schema.from_cql(SCHEMA)
        self.write_options = WriteOptions({"ks": {"durable_writes": "true"}}, {"ks.t": {}})

    def fetch(self) -> KnownSchema:
        if self.schema is None:
            raise UnavailableError("Cassandra does not answer.")
        return KnownSchema(self.schema, NodeIdentity("node-1", "lab"), self.write_options)

    def close(self) -> None:
        pass


class StatusHarness:
    """A pipeline over fakes, its schema holder, and the status of both."""

    def __init__(self, directory: Path, snapshot: Snapshot | None = None) -> None:
        self.harness = PipelineHarness(
            directory, sink=MemorySink(automatic=False), quarantine_max_bytes=500, snapshot=snapshot
        )
        self.snapshot = snapshot
        self.feeder = Feeder()
        self.holder = SchemaHolder(
            self.feeder, SchemaHistory(directory), refresh_interval_ms=1_000_000
        )
        self.status = AgentStatus(
            "1.2.3",
            AgentProperties.model_construct(quarantine_max_bytes=500),
            self.holder,
            self.harness.metrics,
            self.harness.raw.directory,
            Quota(1000),
            lambda schema: Publication(("ks.t",), ("ks.t",)),
            clock=self.harness.clock,
        )

    def begin(self) -> None:
        self.holder.start()
        assert self.holder.wait_until_known(120)
        self.status.attach(self.harness.pipeline, self.snapshot)

    @property
    def raw(self) -> Raw:
        return self.harness.raw

    def settle(self) -> None:
        self.harness.settle()

    def acknowledge(self) -> None:
        self.harness.acknowledge()

    def pass_time(self, seconds: float) -> None:
        self.harness.pass_time(seconds)

    def close(self) -> None:
        self.holder.close()
        self.harness.end()

    def component(self, name: str) -> Component:
        return next(part for part in self.status.health().components if part.name == name)
