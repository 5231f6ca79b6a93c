"""Offsets in a Kafka topic, and loading from either store, even while the agent runs."""

from dataclasses import dataclass

from mongo_agent.change_stream.position import is_same_cluster
from mongo_agent.config.loading import MongoConfig
from mongo_agent.offsets import OFFSET_FILE
from mongo_agent.offsets.agent_offsets import (
    AgentOffsets,
    StreamOffset,
    parse_offsets,
    stored_cluster,
)
from mongo_agent.server.deployment import Deployment
from sidecar.leader_election.election import ElectionSettings
from sidecar.offsets.position_store import PositionRecords, PositionStore
from sidecar.offsets.properties_store import PropertiesStore, StoredOffsets
from sidecar.sinks.kafka.topics.access import stored_values
from sidecar.sinks.kafka.topics.metadata import topic_creation

_ANSWER_S = 30.0


def position_records(config: MongoConfig, deployment: Deployment) -> PositionRecords | None:
    """Describe the records of `position.store=kafka`; return None for `position.store=file`.

    Agents for the shards of one cluster share the logical name, so the name of their records
    includes the replica set.
    """
    if config.properties.position_store != "kafka":
        return None
    name = config.properties.topic_prefix
    if config.shard is not None:
        name = f"{name}.{config.shard.replica_set}"
    elif deployment.is_shard:
        name = f"{name}.{deployment.name}"
    return PositionRecords(config.properties.position_topic_name, name, _values)


def election_settings(config: MongoConfig, deployment: Deployment) -> ElectionSettings | None:
    """Return the leader election settings, or None without `standby.enabled`."""
    properties = config.properties
    records = position_records(config, deployment)
    if records is None or not properties.standby_enabled:
        return None
    return ElectionSettings(
        properties.kafka_producer,
        records.transactional_id,
        records.topic,
        properties.standby_session_timeout_ms,
        topic_creation(properties.topic_creation_enable, properties.topic_creation_default),
        properties.waits_when_denied,
    )


def load_offsets(
    config: MongoConfig, deployment: Deployment, topic_prefix: str | None = None
) -> StoredOffsets:
    """Load the offsets from the file or the topic.

    Raises OffsetStoreError, and for a topic UnavailableError, AccessDeniedError or ConfigError. If
    `topic_prefix` is set, it must match the prefix in the file.
    """
    records = position_records(config, deployment)
    if records is None:
        return PropertiesStore(config.properties.offset_directory, OFFSET_FILE, topic_prefix).load()
    stored = stored_values(config.properties.kafka_producer, records, _ANSWER_S)
    return fall_back_to_file(StoredOffsets(stored), config, deployment)


def fall_back_to_file(
    stored: StoredOffsets, config: MongoConfig, deployment: Deployment
) -> StoredOffsets:
    """Return the offsets in the topic. If it has none, return the offsets that this agent stored
    with `position.store=file`, so that a change of the store loses no position.

    Raises OffsetStoreError.
    """
    if stored.values:
        return stored
    prefix = config.properties.topic_prefix
    found = PropertiesStore(config.properties.offset_directory, OFFSET_FILE).load()
    is_own = found.topic_prefix in (None, prefix) and is_same_cluster(
        stored_cluster(found.values), deployment.cluster
    )
    return found if is_own else stored


@dataclass
class KafkaOffsets:
    """Reloads offsets after the sink closed; the topic may be ahead of the known commits."""

    store: PositionStore
    loaded: StoredOffsets
    """The entries at the last load."""
    cluster: str

    def reload(self, reached: AgentOffsets) -> AgentOffsets:
        """Return the offsets to resume from.

        Without a commit since the last load, they are `reached`: changes made at a start, such as a
        due snapshot, are stored only with the first commit. Raises like `PositionStore.load`.
        """
        last, self.loaded = self.loaded, self.store.load()
        if self.loaded.values == last.values:
            return reached
        for stream, position in parse_offsets(self.loaded.values, self.cluster).streams.items():
            if stream in reached.streams:
                reached = reached.moved(stream, position)
        return reached


def _values(stream: str, position: StreamOffset) -> dict[str, str]:
    return AgentOffsets().moved(stream, position).values()
