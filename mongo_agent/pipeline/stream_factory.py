"""Creation of streams and their snapshots from the configuration."""

import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from mongo_agent.capture.match_stage import fingerprint
from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.change_stream.cursor import StreamFailedError, StreamSource, read_cluster_time
from mongo_agent.change_stream.options import StreamOptions
from mongo_agent.change_stream.position import StreamPosition
from mongo_agent.change_stream.reader import StreamEncoder, StreamReader
from mongo_agent.change_stream.recovery import RecoveryPolicy
from mongo_agent.change_stream.start_token import verify_start_token
from mongo_agent.config.loading import MongoConfig
from mongo_agent.config.model import MongoProperties
from mongo_agent.dead_letters import DeadLetterWriter
from mongo_agent.encoder import MongoEncoder
from mongo_agent.metrics import MongoMetrics
from mongo_agent.offsets import AgentOffsets, StreamOffset
from mongo_agent.pipeline.stream import Add, Stream
from mongo_agent.server.commands import Client
from mongo_agent.server.deployment import Deployment
from mongo_agent.snapshot.ddl_events import ReplacementRules
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.settings import progress_at_start
from mongo_agent.snapshot.snapshotter import Snapshotter
from sidecar.encoding import SchemaIds
from sidecar.errors import UnavailableError
from sidecar.schema_registry.registrar import Registrar, create_registrar
from sidecar.schema_registry.registration import SchemaRegistration, SchemaRequests
from sidecar.sinks.kafka.topics.access import existing_topics
from sidecar.sinks.kafka.topics.reader import TopicRecord, committed_records

_TOPIC_TIMEOUT_S = 10.0
_SKIPPABLE: tuple[Literal["c", "u", "d"], ...] = ("c", "u", "d")


@dataclass(frozen=True, slots=True)
class Schemas:
    ids: SchemaIds
    registrar: Registrar
    registration: SchemaRegistration
    requests: SchemaRequests


def create_schemas(properties: MongoProperties) -> Schemas:
    """Create the schema registration for the sides that use Avro. It reads the settings again after
    denied access. It never abandons the schemas of the topic for transaction boundaries. Raises
    ConfigError."""
    ids = SchemaIds()
    registrar = create_registrar(
        ids,
        lambda: properties.reread().registries(),
        waits_when_denied=properties.waits_when_denied,
    )
    registration = SchemaRegistration(
        ids,
        registrar,
        properties.schema_blocked_timeout_ms / 1000,
        never_abandoned=_transaction_topic(properties),
    )
    return Schemas(ids, registrar, registration, SchemaRequests(registrar))


def _transaction_topic(properties: MongoProperties) -> str | None:
    has_messages = properties.provide_transaction_metadata
    return properties.transaction_topic_name if has_messages else None


class StreamFactory:
    """Creates one stream for each configured scope."""

    def __init__(
        self,
        config: MongoConfig,
        client: Client,
        deployment: Deployment,
        options: StreamOptions,
        dead_letters: DeadLetterWriter,
        metrics: MongoMetrics,
        schemas: Schemas,
    ) -> None:
        """`options` are the configured options, as far as the server supports them."""
        self._config = config
        self._client = client
        self._deployment = deployment
        self._dead_letters = dead_letters
        self._metrics = metrics
        stages = config.pipeline
        self._sources = {
            each.stream_name: StreamSource(client, each, stages, options) for each in config.scopes
        }
        self._options = options
        self._schemas = schemas
        self._ready: set[tuple[str, str]] = set()
        self._begun: set[str] = set()
        self._encoder = encoder(config, deployment, schemas.ids)

    def positions(self, stored: AgentOffsets) -> AgentOffsets:
        """Return the start of each stream: its stored position, else the configured start, else
        now. Raises UnavailableError if the server does not report the time, ConfigError if it
        rejects `capture.start.token`."""
        config, begin = self._config, AgentOffsets()
        self._begun.update(stored.streams)
        for name in self._sources:
            position = stored.streams.get(name) or self._first(name)
            progress = progress_at_start(
                position.snapshot, config.snapshot.mode, self._namespaces(name)
            )
            begin = begin.moved(name, replace(position, snapshot=progress))
        return begin

    def open(self, name: str, position: StreamOffset, add: Add, wake: Callable[[], None]) -> Stream:
        config, properties = self._config, self._config.properties
        reader = StreamReader(
            self._sources[name],
            position.stream,
            StreamEncoder(self._encoder, position.transaction, self._schemas.registration),
            rules=RecoveryPolicy(
                config.history_lost_policy,
                properties.oversize_handling,
                properties.waits_when_denied,
                self._options.large_events,
            ),
            pause=config.new_pause(),
            wake=wake,
        )
        has_many_schemas = properties.uses_avro and bool(config.transforms.transforms)
        snapshotter = Snapshotter(
            self._client,
            self._encoder,
            self._namespaces(name),
            replace(config.snapshot, has_index_bounds=self._options.has_start_after),
            position.snapshot,
            wake=wake,
            new_pause=config.new_pause,
            waits_when_denied=properties.waits_when_denied,
            is_ready=partial(self._is_ready, wake),
            wait_for_ids=self._schemas.registration.wait if has_many_schemas else None,
            rules=ReplacementRules(properties.replaced_policy, self._no_deletes),
            records=None if self._no_deletes else self._records,
            may_repeat=config.is_streamed and name in self._begun,
        )
        self._begun.add(name)
        reader.start()
        return Stream(
            name,
            reader,
            snapshotter,
            position,
            add=add,
            dead_letters=self._dead_letters,
            signal_collection=config.signal_collection,
            metrics=self._metrics,
            is_streamed=config.is_streamed,
            is_merged=self._deployment.is_sharded,
        )

    def heartbeat(self, ts_ms: int) -> tuple[bytes, bytes] | None:
        """Encode key and value of a heartbeat; return None while their schemas have no ids."""
        properties = self._config.properties
        topic = properties.heartbeat_topic_name
        # No thread waits for a heartbeat's schemas.
        self._schemas.requests.ask(self._encoder.unregistered_heartbeat(topic), lambda: None)
        return self._encoder.heartbeat(topic, properties.topic_prefix, ts_ms)

    def _is_ready(self, wake: Callable[[], None], database: str, collection: str) -> bool:
        """Whether a collection's schemas have ids; requests missing ids."""
        if (database, collection) not in self._ready:
            lacking = self._encoder.unregistered(database, collection)
            self._schemas.requests.ask(lacking, wake)
            if not lacking:
                self._ready.add((database, collection))
        return (database, collection) in self._ready

    @property
    def _no_deletes(self) -> str:
        """Why the agent cannot publish deletes of documents that exist only in topics, or empty."""
        properties = self._config.properties
        if properties.sink != "kafka":
            return "the agent reads only Kafka topics"
        if properties.uses_avro or properties.transform_names or properties.event_transform:
            return "the agent reads only JSON topics without transformations"
        if "d" in properties.skipped_operations:
            return "`skipped.operations` skips deletes"
        is_shard = properties.deployment == "shard" or self._config.shard is not None
        return "other agents write to the same topics" if is_shard else ""

    def _records(self, database: str, collection: str) -> Iterator[TopicRecord]:
        settings = self._config.properties.kafka_producer
        topic = self._config.topic_of(database, collection)
        if topic in existing_topics(settings, _TOPIC_TIMEOUT_S):
            yield from committed_records(settings, topic, _TOPIC_TIMEOUT_S)

    def _namespaces(self, stream: str) -> Namespaces:
        scope = self._sources[stream].scope
        return self._config.namespaces.within(scope.database, scope.collection)

    def _first(self, name: str) -> StreamOffset:
        source, cluster = self._sources[name], self._deployment.cluster
        time, token = self._config.start_time, self._config.start_token
        try:
            if token is not None:
                stream = verify_start_token(token, source, cluster)
            else:
                # Like a stream that is opened without a time, it contains no earlier changes.
                time = time or read_cluster_time(self._client).after
                stream = StreamPosition({}, time, fingerprint(source.stages), cluster)
        except StreamFailedError as error:
            raise UnavailableError(f"The start of the stream is unknown: {error}.") from error
        return StreamOffset(stream, None, SnapshotProgress())


def encoder(
    config: MongoConfig, deployment: Deployment, ids: SchemaIds | None = None
) -> MongoEncoder:
    """Create the configured message encoder. `ids` are the ids of Avro schemas."""
    properties = config.properties
    return MongoEncoder(
        topic_prefix=properties.topic_prefix,
        replica_set=deployment.name,
        node_id=properties.node_id or platform.node(),
        layout=properties.event_layout,
        document_json=properties.json_serialization_mode,
        tombstones=properties.tombstones_on_delete,
        captures=config.namespaces.captures,
        skipped_operations={each for each in _SKIPPABLE if each in properties.skipped_operations},
        transaction_topic=_transaction_topic(properties),
        excluded_fields=properties.field_exclude_list,
        renamed_fields=properties.field_renames,
        schema_topic=properties.schema_changes_topic,
        topic_delimiter=properties.topic_delimiter,
        topics=config.topic_of,
        source_version=properties.source_struct_version,
        key=properties.encoding("key"),
        value=properties.encoding("value"),
        names=properties.schema_names,
        schema_ids=ids,
        transforms=config.transforms.transforms,
        transform_of=config.transform_of,
    )
