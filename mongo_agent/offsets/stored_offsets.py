"""Read access to the stored offsets, also while the agent runs."""

from mongo_agent.config.loading import MongoConfig
from mongo_agent.offsets import OFFSET_FILE
from mongo_agent.offsets.kafka_store import position_records
from mongo_agent.server.deployment import Deployment
from sidecar.offsets.properties_store import PropertiesStore, StoredOffsets
from sidecar.sinks.kafka.topics.access import stored_values

_ANSWER_S = 30.0


def load_offsets(
    config: MongoConfig, deployment: Deployment, topic_prefix: str | None = None
) -> StoredOffsets:
    """Load the offsets from the file or the topic.

    Raises OffsetStoreError, and for a topic UnavailableError, AccessDeniedError or ConfigError. A
    `topic_prefix` must match the one in the file.
    """
    records = position_records(config, deployment)
    if records is None:
        return PropertiesStore(config.properties.offset_directory, OFFSET_FILE, topic_prefix).load()
    return StoredOffsets(stored_values(config.properties.kafka_producer, records, _ANSWER_S))
