"""Delivery from the stored position: the pipeline with its parts, signals and monitors."""

import logging
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Any

from cdc_extension import __version__
from mongo_agent.config.loading import MongoConfig
from mongo_agent.dead_letters import DIRECTORY, DeadLetterWriter, Quarantine
from mongo_agent.documents import ClusterTime
from mongo_agent.metrics import MongoMetrics
from mongo_agent.offsets import OFFSET_FILE, AgentOffsets
from mongo_agent.offsets.agent_offsets import parse_offsets
from mongo_agent.offsets.kafka_store import KafkaOffsets, fall_back_to_file, position_records
from mongo_agent.pipeline.pipeline import Pipeline
from mongo_agent.pipeline.stream_factory import Schemas, StreamFactory, create_schemas
from mongo_agent.pipeline.view import View
from mongo_agent.server.deployment import Deployment, read_oldest_oplog_time
from mongo_agent.server.monitoring import OplogMonitor, WarningThresholds
from mongo_agent.server.releases import release_text
from mongo_agent.service.connection import Server
from mongo_agent.signals.channels import SignalFile, SignalTopic
from mongo_agent.signals.signal import Signal, SignalResult
from mongo_agent.status.view import MongoStatus
from sidecar.delivery.dead_letter_topic import create_dead_letter_topic
from sidecar.delivery.sink_registry import create_transactional_sink
from sidecar.logs import fields
from sidecar.offsets.position_store import PositionStore, SinkPositions
from sidecar.offsets.properties_store import PropertiesStore
from sidecar.process.lifecycle import Stop
from sidecar.process.wait_policy import Answered, RetryPause, wait_for
from sidecar.runtime.service import ServiceShell
from sidecar.sinks.base import Sink

logger = logging.getLogger(__name__)

_LOAD_PAUSE_S = 1.0
_LONGEST_LOAD_PAUSE_S = 30.0
_SEND_TO_LEADER = "This agent is on standby. Send the signal to the leader (cdc_leader is 1)."


class MongoDelivery:
    """Delivers in one or several terms as the leader; each term has a separate pipeline."""

    def __init__(
        self, config: MongoConfig, metrics: MongoMetrics, status: MongoStatus, sink: Sink | None
    ) -> None:
        """Without a sink, each term creates one, because the name of the position in Kafka may
        depend on the server."""
        self._properties = config.properties
        self._metrics = metrics
        self._status = status
        self._sink = sink
        self._pipeline: Pipeline | None = None
        self._schemas = self._create_schemas()

    def run(
        self, config: MongoConfig, server: Server, shell: ServiceShell[View], stop: Stop
    ) -> None:
        """Deliver until `stop` is requested."""
        deployment = server.deployment
        sink, store = self._sink_and_store(config, deployment)
        stored = self._wait_for(store.load, stop)
        if stored is None:
            sink.close(0.0)
            return
        if isinstance(store, SinkPositions):
            stored = fall_back_to_file(stored, config, deployment)
        shell.note_recovery(stored)
        dead_letters = self._dead_letters()
        streams = StreamFactory(
            config,
            server.client,
            deployment,
            server.options,
            dead_letters,
            self._metrics,
            self._schemas,
        )
        position = streams.positions(parse_offsets(stored.values, deployment.cluster))
        if isinstance(store, SinkPositions):
            self._wait_for(partial(store.begin_at, position.streams), stop)
        properties = self._properties
        is_in_file = properties.position_store == "file"
        pipeline = Pipeline(
            config,
            streams,
            sink=sink,
            store=store,
            position=position,
            dead_letters=dead_letters,
            metrics=self._metrics,
            elections=lambda: server.elections.count,
            transform=shell.transform,
            dead_letter_topic=create_dead_letter_topic(properties, properties.topic_prefix),
            stored=None if is_in_file else KafkaOffsets(store, stored, deployment.cluster).reload,
            end_waits=self._schemas.registrar.close,
        )
        logger.info(
            "delivering",
            extra=fields(
                cluster=deployment.cluster,
                version=release_text(deployment.version),
                streams=len(position.streams),
                http_port=shell.http_port,
            ),
        )
        with self._oplog_monitor(server, pipeline) as monitor, ExitStack() as channels:
            self._status.attach(pipeline, monitor)
            self._pipeline = pipeline
            for channel in self._channels(config, position):
                channels.enter_context(channel)
            pipeline.run(stop)

    def end_term(self) -> None:
        """Discard the pipeline of a term that has ended."""
        self._pipeline = None
        self._schemas.requests.close()
        self._schemas = self._create_schemas()
        self._status.detach()

    def close(self) -> None:
        self._schemas.registrar.close()
        self._schemas.requests.close()

    def send(self, signal: Signal) -> Future[SignalResult]:
        """Queue a signal. Without a pipeline the future stays pending; a standby rejects it."""
        if self._pipeline is not None:
            return self._pipeline.signal(signal)
        answer: Future[SignalResult] = Future()
        if self._status.is_on_standby:
            answer.set_result(SignalResult(False, _SEND_TO_LEADER))
        return answer

    def snapshots(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the progress of snapshots as JSON, by stream."""
        if self._pipeline is None:
            return {}
        return {stream.name: stream.snapshot.values() for stream in self._pipeline.view.streams}

    def _create_schemas(self) -> Schemas:
        schemas = create_schemas(self._properties)
        self._status.registrar = schemas.registrar
        return schemas

    def _dead_letters(self) -> DeadLetterWriter:
        properties = self._properties
        quarantine = Quarantine(
            properties.offset_directory / DIRECTORY, properties.quarantine_max_bytes, __version__
        )
        ends_agent = properties.failure_handling == "fail"
        return DeadLetterWriter(quarantine, self._metrics, ends_agent=ends_agent)

    def _oplog_monitor(self, server: Server, pipeline: Pipeline) -> OplogMonitor:
        properties = self._properties
        return OplogMonitor(
            partial(read_oldest_oplog_time, server.client),
            partial(_times, pipeline),
            WarningThresholds(
                properties.oplog_headroom_warning_ms,
                properties.stream_stall_warning_ms,
                properties.stream_lag_warning_ms,
            ),
            server.elections,
        )

    def _channels(
        self, config: MongoConfig, position: AgentOffsets
    ) -> Iterator[AbstractContextManager[object]]:
        """Create the signal channels other than HTTP and the stream."""
        properties = self._properties
        if "kafka" in properties.signal_channels:
            offsets = (stream.snapshot.kafka_offset for stream in position.streams.values())
            yield SignalTopic(
                config.signal_client,
                properties.signal_topic_name,
                properties.topic_prefix,
                max((offset for offset in offsets if offset is not None), default=None),
                self.send,
                group=properties.signal_group,
            )
        if "file" in properties.signal_channels and properties.signal_file is not None:
            yield SignalFile(properties.signal_file, self.send)

    def _sink_and_store(
        self, config: MongoConfig, deployment: Deployment
    ) -> tuple[Sink, PositionStore]:
        properties = self._properties
        if self._sink is not None:
            directory, prefix = properties.offset_directory, properties.topic_prefix
            return self._sink, PropertiesStore(directory, OFFSET_FILE, prefix)
        records = position_records(config, deployment)
        assert records is not None
        interval_ms = properties.position_commit_interval_ms
        sink = create_transactional_sink(properties, records, interval_ms)
        return sink, sink

    def _wait_for(self, ask: Callable[[], Answered], stop: Stop) -> Answered | None:
        """Wait for the store's answer; return None if the agent stops first."""
        return wait_for(
            ask,
            stop,
            RetryPause(_LOAD_PAUSE_S, _LONGEST_LOAD_PAUSE_S),
            on_error=self._status.wait_for,
            waits_when_denied=self._properties.waits_when_denied,
        )


def _times(pipeline: Pipeline) -> Mapping[str, tuple[ClusterTime, ClusterTime]]:
    view = pipeline.view
    return {
        stream.name: (view.stored.streams[stream.name].stream.time, stream.read_time)
        for stream in view.streams
        if stream.name in view.stored.streams
    }
