"""The running agent: locks, the schema, the pipeline and the HTTP view of all of it."""

import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agent.config import OFFSET_FILE, AgentConfig
from agent.config.node_settings import cdc_total_limit_bytes
from agent.metrics import AgentMetrics
from agent.pipeline import OpenReader, Pipeline, PipelineSettings, SchemaSource, open_with
from agent.quarantine import ERROR, Quarantine
from agent.schema import NodeIdentity, create_schema_holder
from agent.segments import ledger_from_entries
from agent.status import AgentStatus, StatusLimits
from agent.transfer import Transfer, create_transfer
from commitlog import EventFormat, __version__
from sidecar.http import Build, HttpServer
from sidecar.lifecycle import Stop
from sidecar.locks import DirectoryLock
from sidecar.logs import fields
from sidecar.metrics import DeliveryMetrics
from sidecar.offsets import PropertiesStore
from sidecar.sinks import create_sink
from sidecar.sinks.base import Sink

logger = logging.getLogger(__name__)

SERVICE_NAME = "cdc-sidecar-cassandra"

_SCHEMA_WAIT_S = 0.2


class IdentifiedSchema(SchemaSource, Protocol):
    """The schema, and whose it is."""

    @property
    def identity(self) -> NodeIdentity | None: ...
    def when_changed(self, listener: Callable[[], None], /) -> None: ...
    def start(self) -> None: ...
    def close(self) -> None: ...
    def wait_until_known(self, timeout_s: float) -> bool:
        """Raises what ended the search for a first schema."""


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Where the service works and how it is looked at."""

    pipeline: PipelineSettings
    relocation_directory: Path
    offset_directory: Path
    quarantine_max_bytes: int
    raw_limit_bytes: int | None
    http_host: str
    http_port: int


class AgentService:
    """Everything from the locks to the last saved position. Made for one `run`."""

    def __init__(
        self,
        settings: ServiceSettings,
        *,
        schema: IdentifiedSchema,
        sink: Sink,
        transfer: Transfer,
        open_reader: Callable[[NodeIdentity], OpenReader],
    ) -> None:
        self._settings = settings
        self._schema = schema
        self._sink = sink
        self._transfer = transfer
        self._open_reader = open_reader
        self._store = PropertiesStore(settings.offset_directory, OFFSET_FILE)
        self._metrics = AgentMetrics(DeliveryMetrics(SERVICE_NAME, __version__))
        self._pipeline: Pipeline | None = None
        self._status = AgentStatus(
            Build(SERVICE_NAME, __version__),
            StatusLimits(settings.raw_limit_bytes, settings.quarantine_max_bytes),
            schema,
            self._metrics,
        )
        self._http = HttpServer(self._status, settings.http_host, settings.http_port)

    @property
    def http_port(self) -> int:
        """The port that is served, once `run` serves it."""
        return self._http.port

    def run(self, stop: Stop) -> None:
        """Raises `LockedError`, `ConfigError`, `OffsetStoreError`, and what the schema or the sink
        raises when it refuses us."""
        settings = self._settings
        lock = DirectoryLock(
            settings.pipeline.cdc_raw_directory,
            settings.relocation_directory,
            settings.offset_directory,
        )
        with lock, self._http:
            logger.info(
                "serving health, metrics and offsets",
                extra=fields(host=settings.http_host, port=self._http.port),
            )
            self._schema.when_changed(self._wake)
            self._schema.start()
            try:
                identity = self._wait_for_identity(stop)
                if identity is not None:
                    self._run_pipeline(identity, stop)
            finally:
                self._schema.close()

    def _wait_for_identity(self, stop: Stop) -> NodeIdentity | None:
        """Who the node is, once there is a schema; None when a stop comes first."""
        while not stop.requested:
            if self._schema.wait_until_known(_SCHEMA_WAIT_S) and self._schema.identity is not None:
                return self._schema.identity
        return None

    def _run_pipeline(self, identity: NodeIdentity, stop: Stop) -> None:
        settings = self._settings
        stored = self._store.load()
        if stored.recovered_from_previous is not None:
            logger.warning(stored.recovered_from_previous)
            self._status.note_offsets(stored.recovered_from_previous)
        ledger = ledger_from_entries(stored.values, identity.node_id)
        logger.info(
            "publishing the changes of a node",
            extra=fields(
                node_id=identity.node_id,
                cluster=identity.cluster_name,
                begun=len(ledger.positions),
                finished=len(ledger.completed),
            ),
        )
        self._pipeline = Pipeline(
            settings.pipeline,
            open_reader=self._open_reader(identity),
            schema=self._schema,
            sink=self._sink,
            store=self._store,
            ledger=ledger,
            transfer=self._transfer,
            quarantine=Quarantine(
                settings.relocation_directory / ERROR, settings.quarantine_max_bytes, __version__
            ),
            metrics=self._metrics,
        )
        self._status.begins(self._pipeline)
        self._pipeline.run(stop)

    def _wake(self) -> None:
        if self._pipeline is not None:
            self._pipeline.wake()


def create_service(config: AgentConfig) -> AgentService:
    """The service that a configuration describes. Raises `ConfigError`."""
    properties = config.properties

    def open_reader(identity: NodeIdentity) -> OpenReader:
        return open_with(
            EventFormat(
                topic_prefix=properties.topic_prefix,
                cluster=identity.cluster_name,
                node_id=identity.node_id,
                cells=properties.event_cells,
                op_style=properties.event_op_style,
                partition_by=properties.kafka_partition_by,
                include=properties.table_include_list,
                exclude=properties.table_exclude_list,
            )
        )

    return AgentService(
        ServiceSettings(
            pipeline=PipelineSettings(
                cdc_raw_directory=config.cdc_raw_directory,
                window_max_events=properties.inflight_max_events,
                window_max_bytes=properties.inflight_max_bytes,
                poll_interval_ms=properties.poll_interval_ms,
                offset_flush_interval_ms=properties.offset_flush_interval_ms,
                hold_max_ms=properties.hold_max_ms,
            ),
            relocation_directory=properties.relocation_directory,
            offset_directory=properties.offset_directory,
            quarantine_max_bytes=properties.quarantine_max_bytes,
            raw_limit_bytes=_raw_limit_bytes(config),
            http_host=properties.http_host,
            http_port=properties.http_port,
        ),
        schema=create_schema_holder(config),
        sink=create_sink(properties),
        transfer=create_transfer(config.transfer_name, properties.relocation_directory),
        open_reader=open_reader,
    )


def _raw_limit_bytes(config: AgentConfig) -> int | None:
    """What the node allows, as far as its `cassandra.yaml` or its default says."""
    configured = config.node_settings.cdc_total_bytes if config.node_settings is not None else None
    try:
        volume_bytes = shutil.disk_usage(config.cdc_raw_directory).total
    except OSError:
        return configured
    return cdc_total_limit_bytes(configured, volume_bytes)
