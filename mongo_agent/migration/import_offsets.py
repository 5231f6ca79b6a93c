"""Import of Debezium's offsets into the agent's store."""

from collections.abc import Sequence

from mongo_agent.check.connection_diagnostics import ANSWER_MS, connect
from mongo_agent.config.loading import MongoConfig
from mongo_agent.config.shard_assignment import assign_shard
from mongo_agent.migration.connect_offsets import ConnectOffset
from mongo_agent.migration.debezium_offsets import imported_position
from mongo_agent.offsets import OFFSET_FILE, AgentOffsets, StreamOffset
from mongo_agent.offsets.kafka_store import position_records
from mongo_agent.pipeline.batches import OwnMessages
from mongo_agent.server.deployment import Deployment
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import InitialSnapshot
from sidecar.errors import ConfigError, UnavailableError
from sidecar.events import NumberedBatch
from sidecar.files.locks import DirectoryLock
from sidecar.offsets.position_store import PositionRecords
from sidecar.offsets.properties_store import PropertiesStore
from sidecar.sinks.registry import create_sink_and_store

_COMMIT_S = 60.0


def import_offsets(
    config: MongoConfig, offsets: Sequence[ConnectOffset], *, oldest: bool, replace: bool
) -> tuple[str, ...]:
    """Store the offset of Debezium's connector and return messages about the result.

    Queries MongoDB for its deployment. Raises ConfigError for unusable offsets and for existing
    offsets without `replace`, LockedError while the agent runs.
    """
    config = assign_shard(config, ANSWER_MS).config or config
    with connect(config) as (_, deployment):
        taken = imported_position(
            offsets, config.properties.topic_prefix, deployment.cluster, oldest=oldest
        )
    # Debezium's snapshot is complete, so the agent takes none.
    stream = StreamOffset(taken.position, None, SnapshotProgress(initial=InitialSnapshot.DONE))
    position = AgentOffsets()
    for scope in config.scopes:
        position = position.moved(scope.stream_name, stream)
    directory = config.properties.offset_directory
    with DirectoryLock(directory, private=directory):
        where = _store(config, deployment, position, replace=replace)
    return (*taken.messages, f"The offset is stored in {where}.")


def _store(
    config: MongoConfig, deployment: Deployment, position: AgentOffsets, *, replace: bool
) -> str:
    records = position_records(config, deployment)
    if records is None:
        properties = config.properties
        file = PropertiesStore(properties.offset_directory, OFFSET_FILE, properties.topic_prefix)
        _require_empty(bool(file.load().values), str(file.path), replace)
        file.save(position.values())
        return str(file.path)
    _store_in_kafka(config, records, position, replace=replace)
    return f"the topic {records.topic}"


def _store_in_kafka(
    config: MongoConfig, records: PositionRecords, position: AgentOffsets, *, replace: bool
) -> None:
    sink, store = create_sink_and_store(config.properties, OFFSET_FILE, records)
    try:
        _require_empty(bool(store.load().values), f"the topic {records.topic}", replace)
        for stream, reached in position.streams.items():
            sink.send(NumberedBatch(stream, OwnMessages((), reached), 0), 0, 0.0)
    finally:
        sink.close(_COMMIT_S)
    try:
        if store.load().values != position.values():
            raise UnavailableError(
                f"The offset was not written to the topic {records.topic}. Check the broker and "
                "retry."
            )
    finally:
        sink.close(0.0)


def _require_empty(is_there: bool, where: str, replace: bool) -> None:
    if is_there and not replace:
        raise ConfigError(f"{where} already contains an offset. Use --replace to overwrite it.")
