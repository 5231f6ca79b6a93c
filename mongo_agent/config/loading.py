"""Loading of properties files into the agent's configuration."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mongo_agent.capture.match_stage import CHANGES
from mongo_agent.capture.namespaces import Namespaces, Scope
from mongo_agent.capture.stream_pipeline import (
    NATIVE_EVENTS,
    SCHEMA_EVENTS,
    Stage,
    stream_pipeline,
)
from mongo_agent.change_stream.options import StreamOptions
from mongo_agent.change_stream.recovery import HistoryLostPolicy
from mongo_agent.change_stream.tokens import Token, token_from_json
from mongo_agent.config.capture import AWAIT_MS
from mongo_agent.config.client import (
    ClientSettings,
    client_problem,
    client_settings,
    settings_of_set,
)
from mongo_agent.config.configuration_warnings import configuration_warnings
from mongo_agent.config.cross_validation import cross_validation_errors
from mongo_agent.config.debezium import DebeziumProperties
from mongo_agent.config.events import naming
from mongo_agent.config.model import MongoProperties
from mongo_agent.config.snapshot import snapshot_settings
from mongo_agent.config.transforms import Transforms, transforms
from mongo_agent.documents import ClusterTime
from mongo_agent.server.catalogue import Shard
from mongo_agent.snapshot.settings import SnapshotSettings
from mongo_agent.topic_naming import Naming
from sidecar.config import kafka_connect
from sidecar.errors import ConfigError
from sidecar.files import directories
from sidecar.process.wait_policy import RetryPause
from sidecar.properties.loading import LoadedProperties, load
from sidecar.properties.source import command_line_settings

# An unlimited reply can hold 16 MB, and memory holds several replies, each also encoded.
_BATCH_EVENTS = 5000
_OPERATION = {"insert": "c", "update": "u", "replace": "u", "delete": "d"}


@dataclass(frozen=True)
class MongoConfig:
    """Properties and the values that the agent derives from them."""

    loaded: LoadedProperties[MongoProperties]
    client: ClientSettings
    namespaces: Namespaces
    scopes: tuple[Scope, ...]
    stream: StreamOptions
    snapshot: SnapshotSettings
    topic_of: Naming
    transforms: Transforms
    warnings: tuple[str, ...]
    start_time: ClusterTime | None
    """Start time of a stream without a stored offset; None means now."""
    shard: Shard | None = None
    """The shard of this task, to which `client` connects; None without tasks."""
    seeds: ClientSettings | None = None
    """Settings for the mongos or config servers that list the shards."""

    @property
    def properties(self) -> MongoProperties:
        return self.loaded.properties

    def transform_of(self, database: str, collection: str) -> int | None:
        """Return the index of the transformation for a collection's events, or None."""
        return self.transforms.of_topic(self.topic_of(database, collection))

    @property
    def accepted_deployment(self) -> str:
        """The deployment that the agent accepts, as a value of `mongodb.deployment`."""
        by_mode = {"sharded": "mongos", "replica_set": "shard", None: self.properties.deployment}
        return by_mode[self.properties.connection_mode]

    @property
    def operations(self) -> tuple[str, ...]:
        """The `operationType`s of document events to publish."""
        skipped = self.properties.skipped_operations
        return tuple(change for change in CHANGES if _OPERATION[change] not in skipped)

    @property
    def is_streamed(self) -> bool:
        """False: the agent exits after the snapshots."""
        return self.snapshot.mode != "initial_only"

    @property
    def start_token(self) -> Token | None:
        text = self.properties.capture_start_token
        return None if text is None else token_from_json(text)

    def is_in_snapshot(self, database: str, collection: str) -> bool:
        """Whether an automatic snapshot (`snapshot.mode`) includes a collection."""
        return (
            self.snapshot.mode != "no_data"
            and self.namespaces.captures(database, collection)
            and self.snapshot.chosen.captures(database, collection)
        )

    def new_pause(self) -> RetryPause:
        properties = self.properties
        return RetryPause(
            properties.backoff_initial_delay_ms / 1000,
            properties.backoff_max_delay_ms / 1000,
            properties.max_attempts,
        )

    def reread(self) -> "MongoConfig":
        """Return the configuration with each `${file:…}` read again."""
        again = self.properties.reread()
        if again is self.properties:
            return self
        client = seeds = client_settings(again)
        if self.shard is not None:
            client = settings_of_set(client, self.shard.replica_set, self.shard.hosts)
        loaded = replace(self.loaded, properties=again)
        return replace(self, loaded=loaded, client=client, seeds=self.seeds and seeds)

    @property
    def signal_collection(self) -> str | None:
        """The collection whose inserts are signals, or None if the channel `source` is disabled."""
        properties = self.properties
        return properties.signal_collection if "source" in properties.signal_channels else None

    @property
    def pipeline(self) -> tuple[Stage, ...]:
        """The stages after `$changeStream` in every stream."""
        properties = self.properties
        if not self.is_streamed:
            return ({"$match": {"operationType": {"$in": []}}},)
        others = NATIVE_EVENTS if properties.schema_changes_topic is None else SCHEMA_EVENTS
        return stream_pipeline(
            self.namespaces,
            self.operations,
            others,
            signal_collection=self.signal_collection,
            user_stages=properties.cursor_pipeline,
            order=properties.cursor_pipeline_order,
        )

    @property
    def history_lost_policy(self) -> HistoryLostPolicy:
        """The action when the oplog no longer contains the offset."""
        if self.properties.history_lost_policy is not None:
            return self.properties.history_lost_policy
        copies_again = self.properties.snapshot_mode in ("when_needed", "always")
        return "resnapshot" if copies_again else "fail"

    @property
    def window_max_events(self) -> int:
        """Limit on events that are read but not acknowledged."""
        return self.properties.max_queue_size or self.properties.inflight_max_events

    @property
    def window_max_bytes(self) -> int:
        """Limit on the size of the keys and values of unacknowledged events."""
        return self.properties.max_queue_size_in_bytes or self.properties.inflight_max_bytes

    @property
    def signal_client(self) -> Mapping[str, str]:
        """Client settings of the signal channel `kafka`, under their Java names."""
        properties = self.properties
        settings = dict(properties.signal_consumer or properties.kafka_producer)
        servers = properties.signal_servers or properties.kafka_producer.get("bootstrap.servers")
        return settings if servers is None else {**settings, "bootstrap.servers": servers}


def load_config(
    files: Iterable[Path],
    overrides: Iterable[str] = (),
    *,
    environment: Mapping[str, str] | None = None,
) -> MongoConfig:
    """Read the files in order, then `name=value` overrides.

    Raises `ConfigError` with one message for each error. Opens no connection and checks no
    directory (see `directory_problems`).
    """
    loaded = load(
        MongoProperties,
        files,
        overrides=command_line_settings(overrides),
        environment=environment,
        cross=cross_validation_errors,
    )
    properties = loaded.properties
    client = client_settings(properties)
    problem = client_problem(client)
    if problem is not None:
        raise ConfigError(problem)
    captured = properties.namespaces()
    transformations = _transforms(loaded)
    scopes = [Scope(*target.split(".", 1)) for target in dict.fromkeys(properties.capture_target)]
    return MongoConfig(
        loaded=loaded,
        client=client,
        namespaces=captured,
        scopes=tuple(scopes) or (Scope(),),
        stream=_stream_options(properties),
        snapshot=snapshot_settings(properties, captured),
        topic_of=naming(properties),
        transforms=transformations,
        warnings=(
            *loaded.warnings,
            *kafka_connect.unused(properties, DebeziumProperties),
            *properties.converter_warnings(),
            *map(loaded.located, transformations.warnings),
            *map(loaded.located, configuration_warnings(properties)),
        ),
        start_time=properties.capture_start_op_time,
    )


def _transforms(loaded: LoadedProperties[MongoProperties]) -> Transforms:
    properties = loaded.properties
    try:
        return transforms(
            properties,
            properties.event_layout,
            key_converter=properties.outbox_converter("key"),
            value_converter=properties.outbox_converter("value"),
            is_avro=properties.encoding("value") == "avro",
        )
    except ConfigError as error:
        raise ConfigError(*map(loaded.located, error.problems)) from error


def directory_problems(config: MongoConfig) -> list[str]:
    """Return a message for each missing or unusable directory."""
    properties = config.properties
    wanted = [("offset.backing.store.dir", properties.offset_directory)]
    if properties.sink == "file" and properties.file_path is not None:
        wanted.append(("file.path", properties.file_path.absolute().parent))
    if "file" in properties.signal_channels and properties.signal_file is not None:
        wanted.append(("signal.file", properties.signal_file.absolute().parent))
    return directories.directory_problems(wanted)


def _stream_options(properties: MongoProperties) -> StreamOptions:
    full_document = "default"
    if "update_full" in properties.capture_mode:
        is_lookup = properties.full_update_type == "lookup"
        full_document = "updateLookup" if is_lookup else "whenAvailable"
    has_before = properties.capture_mode.endswith("with_pre_image")
    return StreamOptions(
        full_document=full_document,
        full_document_before="whenAvailable" if has_before else "off",
        shows_expanded_events=properties.schema_changes_topic is not None,
        batch_size=properties.max_batch_size or _BATCH_EVENTS,
        await_ms=properties.cursor_max_await_time_ms or AWAIT_MS,
    )
