"""The MongoDB agent as a service. Its parts are made here and nowhere else."""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import Any

import pymongo
from pymongo import MongoClient

from commitlog import __version__
from mongo_agent.change_stream.start_after import supported_options
from mongo_agent.check.checks import CHECKS
from mongo_agent.check.connection_diagnostics import diagnose
from mongo_agent.check.guardrail import enforce_limit
from mongo_agent.check.probe import MongoProbe, probe_of_run
from mongo_agent.check.server_features import check_features
from mongo_agent.config.loading import MongoConfig
from mongo_agent.config.model import SERVICE_NAME
from mongo_agent.config.shard_assignment import assignment, at_shard
from mongo_agent.dead_letters.quarantine import DIRECTORY as QUARANTINE_DIRECTORY
from mongo_agent.dead_letters.quarantine import Quarantine
from mongo_agent.dead_letters.writer import DeadLetterWriter
from mongo_agent.documents.cluster_time import ClusterTime
from mongo_agent.metrics import MongoMetrics
from mongo_agent.offsets import OFFSET_FILE, AgentOffsets
from mongo_agent.offsets.agent_offsets import parse_offsets
from mongo_agent.offsets.kafka_store import KafkaOffsets, election_settings, position_records
from mongo_agent.pipeline.pipeline import Pipeline
from mongo_agent.pipeline.schemas import Schemas, create_schemas
from mongo_agent.pipeline.settings import HeartbeatSettings, PipelineSettings
from mongo_agent.pipeline.stream_factory import StreamFactory
from mongo_agent.server.deployment import Deployment, deployment_error, discover, oldest_oplog_time
from mongo_agent.server.elections import ElectionCounter
from mongo_agent.server.oplog_monitor import OplogMonitor, WarningThresholds
from mongo_agent.signals.file import SignalFile
from mongo_agent.signals.http import signal_pages
from mongo_agent.signals.kafka import SignalTopic
from mongo_agent.signals.signal import Signal, SignalResult
from mongo_agent.snapshot.view import SnapshotView
from mongo_agent.status.debezium import CONNECTOR, attributes_of
from mongo_agent.status.summary import MongoSummaryParts
from mongo_agent.status.view import HISTORY, MongoStatus
from sidecar.check.finding import Level
from sidecar.check.periodic import PeriodicChecks
from sidecar.errors import (
    AccessDeniedError,
    ConfigError,
    LockedError,
    SidecarError,
    UnavailableError,
)
from sidecar.logs import RateLimitedLog, fields
from sidecar.metrics import DeliveryMetrics
from sidecar.offsets.position_store import PositionStore, SinkPositions
from sidecar.offsets.properties_store import PropertiesStore
from sidecar.process.lifecycle import Stop
from sidecar.process.wait_policy import Answered, RetryPause, wait_for
from sidecar.properties.secrets import hiding
from sidecar.runtime.service import ServiceShell
from sidecar.sinks.base import Sink
from sidecar.sinks.kafka.leader_election.election import LeaderElection
from sidecar.sinks.registry import create_dead_letter_topic, create_sink, create_sink_and_store

logger = logging.getLogger(__name__)

_CLOSE_S = 2.0
_LOOK_S = 10.0
_LOAD_PAUSE_S = 1.0
_LONGEST_LOAD_PAUSE_S = 30.0
_SEND_TO_LEADER = "This agent is on standby. Send the signal to the leader (cdc_leader is 1)."

Client = MongoClient[Any]


def create_service(config: MongoConfig) -> "MongoService":
    """The agent of one deployment, not yet running. Raises ConfigError."""
    is_in_file = config.properties.position_store == "file"
    return MongoService(config, create_sink(config.properties) if is_in_file else None)


class MongoService:
    """Locks its directory, serves HTTP, identifies the server, and delivers until it is stopped."""

    def __init__(self, config: MongoConfig, sink: Sink | None) -> None:
        """Without a sink the service makes it once the server is identified: the name of the
        position in Kafka may depend on it."""
        self._config = config
        self._sink = sink
        properties = config.properties
        self._metrics = MongoMetrics(DeliveryMetrics(SERVICE_NAME, __version__))
        self._metrics.quarantine_limit_bytes.set(properties.quarantine_max_bytes)
        self.status = MongoStatus(
            __version__,
            self._metrics,
            properties.quarantine_max_bytes,
            str(properties.offset_directory / QUARANTINE_DIRECTORY),
        )
        self._pipeline: Pipeline | None = None
        self._options = config.stream
        self._shell = ServiceShell(
            properties,
            self.status,
            MongoSummaryParts(
                str(properties.offset_directory / QUARANTINE_DIRECTORY), config.loaded.files
            ),
            connector=CONNECTOR,
            topic_prefix=properties.topic_prefix,
            attributes=lambda: attributes_of(self.status.view, self._metrics),
            events=self._metrics.events,
            quarantined=self._metrics.quarantined,
            quarantine_max_bytes=properties.quarantine_max_bytes,
            pages=[signal_pages(self._send, self._snapshots)],
            hide=hiding(config.loaded),
            history_columns=HISTORY,
        )
        self._elections = ElectionCounter()
        self._schemas = self._create_schemas()
        self.status.registrar = self._schemas.registrar

    @property
    def http_port(self) -> int:
        """While it runs."""
        return self._shell.http_port

    def run(self, stop: Stop) -> None:
        """Runs until `stop` is requested. Raises errors that waiting cannot resolve."""
        directory = self._config.properties.offset_directory
        with self._shell.running(directory):
            try:
                if self._assign(stop):
                    self._run_assigned(stop)
            finally:
                self._schemas.registrar.close()
                self._schemas.requests.close()

    def _create_schemas(self) -> Schemas:
        properties = self._config.properties
        return create_schemas(
            properties.registries(),
            properties.schema_blocked_timeout_ms,
            properties.transaction_topic_name if properties.provide_transaction_metadata else None,
            waits_when_denied=properties.waits_when_denied,
        )

    def _run_assigned(self, stop: Stop) -> None:
        with self._client() as client, self._checks(client) as checks:
            self.status.findings = lambda: checks.findings
            look_s = min(_LOOK_S, client.options.server_selection_timeout)
            deployment = self._answer(partial(self._discovered, client), stop, look_s)
            if deployment is not None:
                self._note_place(deployment)
                self._serve(client, deployment, stop)

    def _assign(self, stop: Stop) -> bool:
        """Connects to the shard of this task, where it has one. Waits for one; False when the stop
        came first."""
        config, known = self._config, None
        ask = partial(assignment, config, round(_LOOK_S * 1000))
        while (found := self._answer(ask, stop, _LOOK_S)) is not None:
            if found.config is not None:
                shard = found.config.shard
                is_new = shard is not None and known is not None and shard not in known
                assigned = at_shard(config, shard, is_new=True) if is_new and shard else None
                self._config = assigned or found.config
                return True
            if known is None:
                logger.info("waiting for a shard", extra=fields(task=config.properties.task_id))
                known = found.shards
            stop.wait(config.properties.poll_interval_ms / 1000)
        return False

    def _checks(self, client: Client) -> PeriodicChecks[MongoProbe]:
        status = self.status
        probe = partial(probe_of_run, self._config, client, status.server_error, status.sink_state)
        return PeriodicChecks(CHECKS, probe)

    @contextmanager
    def _client(self) -> Iterator[Client]:
        options = dict(self._config.client.options)
        client = MongoClient[Any](**options, event_listeners=[self._elections])
        try:
            yield client
        finally:
            # The client ends its sessions, and waits for an unavailable server.
            closing = threading.Thread(target=client.close, name="closing", daemon=True)
            closing.start()
            closing.join(_CLOSE_S)

    def _discovered(self, client: Client) -> Deployment:
        """The deployment, which supports the configuration."""
        deployment = discover(client)
        self._require_support(client, deployment)
        enforce_limit(client, self._config)
        return deployment

    def _answer(self, ask: Callable[[], Answered], stop: Stop, look_s: float) -> Answered | None:
        """The answer of MongoDB; None when the stop came first. Waits for an unavailable server for
        the attempts of the backoff. A stop is noticed between two attempts of `look_s`."""
        properties = self._config.properties
        pauses_ms = self._config.backoff.delays_ms()
        repeated = RateLimitedLog(logger)
        while not stop.requested:
            try:
                with pymongo.timeout(look_s):
                    answer = ask()
            except (AccessDeniedError, UnavailableError) as error:
                cause = diagnose(error, self._config.client)
                pause_ms = next(pauses_ms, None)
                if isinstance(cause, AccessDeniedError) and properties.waits_when_denied:
                    pause_ms = self._config.backoff.max_delay_ms if pause_ms is None else pause_ms
                elif pause_ms is None or not isinstance(cause, UnavailableError):
                    raise cause from error
                self.status.wait_for(str(cause))
                repeated.log("connect", str(cause))
                stop.wait(self._config.backoff.jittered_s(pause_ms))
                continue
            self.status.wait_for("")
            repeated.resolved("connect", "MongoDB answers.")
            return answer
        return None

    def _require_support(self, client: Client, deployment: Deployment) -> None:
        """Notes the options of streams that the deployment supports. Raises ConfigError when it
        lacks what the configuration needs."""
        config = self._config
        wanted, address = config.accepted_deployment, config.client.address
        problem = deployment_error(deployment, wanted, address)
        if problem is not None:
            raise ConfigError(problem)
        options = self._options = supported_options(client, config.scopes[0], config.stream)
        findings = check_features(
            config, deployment.version, has_start_after=options.has_start_after
        )
        lacking = [
            f"{each.message} {each.remedy}" for each in findings if each.level is Level.FAULT
        ]
        if lacking:
            raise ConfigError(*lacking)

    def _note_place(self, deployment: Deployment) -> None:
        self._shell.note_place(
            deployment.cluster if deployment.is_sharded else deployment.name,
            deployment.member,
            deployment.datacenter,
            deployment.rack,
        )

    def _serve(self, client: Client, deployment: Deployment, stop: Stop) -> None:
        """Delivers; with `standby.enabled` only while this agent is the leader."""
        settings = election_settings(self._config, deployment)
        if settings is None:
            self._deliver(client, deployment, stop)
            return
        try:
            with LeaderElection(settings) as election:
                self.status.election = election
                while self._lead(election, client, deployment, stop):
                    self._step_down()
        finally:
            # An agent that left the group at its end is no fault.
            self.status.election = None

    def _lead(
        self, election: LeaderElection, client: Client, deployment: Deployment, stop: Stop
    ) -> bool:
        """One term as the leader; False when nothing is left to do."""
        with election.term(stop) as term:
            if term is None:
                return False
            try:
                self._deliver(client, deployment, term.stop)
            except LockedError as error:
                logger.warning("another agent delivers", extra=fields(reason=str(error)))
                election.fenced(term)
            except SidecarError as error:
                if stop.requested or not term.stop.requested:
                    raise
                # Whatever failed, another agent may deliver.
                logger.warning("delivery ended with the term", extra=fields(reason=str(error)))
            return term.stop.requested and not stop.requested

    def _step_down(self) -> None:
        """Forgets the pipeline of a term that is over."""
        self._pipeline = None
        self._schemas.requests.close()
        self._schemas = self._create_schemas()
        self.status.registrar = self._schemas.registrar
        self.status.detach()

    def _deliver(self, client: Client, deployment: Deployment, stop: Stop) -> None:
        config, properties = self._config, self._config.properties
        sink, store = self._sink_and_store(deployment)
        stored = self._waited(store.load, stop)
        if stored is None:
            sink.close(0.0)
            return
        self._shell.note_recovery(stored)
        if isinstance(store, PropertiesStore):
            store.adopt(stored)
        quarantine = Quarantine(
            properties.offset_directory / QUARANTINE_DIRECTORY,
            properties.quarantine_max_bytes,
            __version__,
        )
        dead_letters = DeadLetterWriter(
            quarantine, self._metrics, ends_agent=properties.failure_handling == "fail"
        )
        streams = StreamFactory(
            config,
            client,
            deployment,
            self._options,
            dead_letters,
            self._metrics,
            self._schemas,
        )
        position = streams.positions(parse_offsets(stored.values, deployment.cluster))
        if isinstance(store, SinkPositions):
            self._waited(partial(store.begin_at, position.streams), stop)
        pipeline = Pipeline(
            PipelineSettings(
                window_max_events=config.window_max_events,
                window_max_bytes=config.window_max_bytes,
                offset_flush_interval_ms=properties.offset_flush_interval_ms,
                is_streamed=config.snapshot.mode != "initial_only",
                heartbeat=HeartbeatSettings(
                    properties.heartbeat_interval_ms,
                    properties.heartbeat_topic_name,
                    streams.heartbeat,
                ),
                waits_when_denied=properties.waits_when_denied,
                transform=self._shell.transform,
                dead_letter_topic=create_dead_letter_topic(properties, properties.topic_prefix),
            ),
            open_stream=streams.open,
            sink=sink,
            store=store,
            position=position,
            dead_letters=dead_letters,
            metrics=self._metrics,
            elections=lambda: self._elections.count,
            stored=None
            if properties.position_store == "file"
            else KafkaOffsets(store, stored, deployment.cluster).after,
            end_waits=self._schemas.registrar.close,
        )
        watch = OplogMonitor(
            partial(oldest_oplog_time, client),
            partial(_times, pipeline),
            WarningThresholds(
                properties.oplog_headroom_warning_ms,
                properties.stream_stall_warning_ms,
                properties.stream_lag_warning_ms,
            ),
            self._elections,
        )
        logger.info(
            "delivering",
            extra=fields(
                cluster=deployment.cluster,
                version=".".join(map(str, deployment.version)),
                streams=len(position.streams),
                http_port=self._shell.http_port,
            ),
        )
        with watch:
            self.status.attach(pipeline, watch)
            self._pipeline = pipeline
            with ExitStack() as channels:
                for channel in self._channels(position):
                    channels.enter_context(channel)
                pipeline.run(stop)

    def _channels(self, position: AgentOffsets) -> Iterator[AbstractContextManager[object]]:
        """Channels of signals, besides HTTP and the stream."""
        properties = self._config.properties
        if "kafka" in properties.signal_channels:
            yield self._signal_topic(position)
        if "file" in properties.signal_channels and properties.signal_file is not None:
            yield SignalFile(properties.signal_file, self._send)

    def _signal_topic(self, position: AgentOffsets) -> SignalTopic:
        config = self._config
        offsets = (stream.snapshot.kafka_offset for stream in position.streams.values())
        return SignalTopic(
            config.signal_client,
            config.properties.signal_topic_name,
            config.properties.topic_prefix,
            max((offset for offset in offsets if offset is not None), default=None),
            self._send,
            group=config.properties.signal_group,
        )

    def _sink_and_store(self, deployment: Deployment) -> tuple[Sink, PositionStore]:
        properties = self._config.properties
        if self._sink is not None:
            store = PropertiesStore(
                properties.offset_directory, OFFSET_FILE, properties.topic_prefix
            )
            return self._sink, store
        records = position_records(self._config, deployment)
        interval_ms = properties.position_commit_interval_ms
        return create_sink_and_store(
            properties, OFFSET_FILE, records, commit_interval_ms=interval_ms
        )

    def _waited(self, ask: Callable[[], Answered], stop: Stop) -> Answered | None:
        """The answer of the broker with the position; None when the stop came first."""
        return wait_for(
            ask,
            stop,
            RetryPause(_LOAD_PAUSE_S, _LONGEST_LOAD_PAUSE_S),
            on_error=self.status.wait_for,
            waits_when_denied=self._config.properties.waits_when_denied,
        )

    def _send(self, signal: Signal) -> Future[SignalResult]:
        """Without a pipeline the future stays open, except on standby."""
        if self._pipeline is not None:
            return self._pipeline.signal(signal)
        answer: Future[SignalResult] = Future()
        if self.status.is_on_standby:
            answer.set_result(SignalResult(False, _SEND_TO_LEADER))
        return answer

    def _snapshots(self) -> Mapping[str, SnapshotView]:
        if self._pipeline is None:
            return {}
        return {stream.name: stream.snapshot for stream in self._pipeline.view.streams}


def _times(pipeline: Pipeline) -> Mapping[str, tuple[ClusterTime, ClusterTime]]:
    view = pipeline.view
    return {
        stream.name: (view.stored.streams[stream.name].stream.time, stream.read_time)
        for stream in view.streams
        if stream.name in view.stored.streams
    }
