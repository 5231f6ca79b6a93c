"""Comparison of collections with their topics.

    time before ── read documents ── time after ── wait for delivery up to it ── read topics

A document that does not change between the two times has one state, which must be its latest state
in the topic. So reads need no fixed cluster time, and a large collection may take arbitrarily long.
"""

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from pymongo.errors import PyMongoError

from mongo_agent.change_stream.cursor import StreamFailedError, read_cluster_time
from mongo_agent.check.capture_plan import captured_among, list_in_scopes
from mongo_agent.compare.comparison import ComparedCollection, TopicState, compare_collection
from mongo_agent.config.loading import MongoConfig
from mongo_agent.config.shard_assignment import config_at_shard
from mongo_agent.documents import ClusterTime, document_state
from mongo_agent.encoder import MongoEncoder
from mongo_agent.offsets.agent_offsets import StreamOffset, parse_offsets, stored_cluster
from mongo_agent.offsets.kafka_store import load_offsets
from mongo_agent.pipeline.stream_factory import encoder
from mongo_agent.server.catalogue import CollectionInfo, list_shards
from mongo_agent.server.commands import RAW, Client
from mongo_agent.server.deployment import Deployment
from mongo_agent.server.errors import server_error
from sidecar.errors import ConfigError, UnavailableError
from sidecar.sinks.kafka.topics.access import existing_topics
from sidecar.sinks.kafka.topics.reader import committed_records

_DOCUMENTS = 1000
_BATCH_BYTES = 4 << 20
_ANSWER_S = 30.0
_POLL_INTERVAL_S = 0.5


def compare(
    client: Client,
    config: MongoConfig,
    deployment: Deployment,
    names: tuple[str, ...],
    wait_s: float,
) -> list[ComparedCollection]:
    """Compare the captured collections, or only `names`.

    Raises UnavailableError if the stored offset does not pass the time of the reads within
    `wait_s`. Raises ConfigError for an uncaptured name, and errors of MongoDB and Kafka.
    """
    if config.properties.transform_names:
        raise ConfigError(
            "`transforms` is set: `compare` reads documents from the envelope, which transformed "
            "messages do not have."
        )
    if config.properties.uses_avro:
        raise ConfigError(
            "`key.converter` or `value.converter` is Avro; `compare` supports only JSON topics, "
            "with or without schemas."
        )
    tasks = _find_tasks(client, config, deployment)
    collections = _choose(client, config, names)
    encode = encoder(config, deployment)
    since = _read_time(client)
    read = {each.namespace: _read_documents(client, encode, each) for each in collections}
    _wait_for_delivery(tasks, deployment, _read_time(client), wait_s)
    if not names:
        # Dropped and renamed collections whose topics still contain their documents.
        offsets = (each for task in tasks for each in _load_offsets(task, deployment))
        replaced = [each for offset in offsets for each in offset.snapshot.replaced]
        read = {each.namespace: {} for each in replaced} | read
    topics = {collection: TopicState(since) for collection in read}
    wanted = dict.fromkeys(config.topic_of(*_split(name)) for name in read)
    settings = config.properties.kafka_producer
    existing = existing_topics(settings, _ANSWER_S)
    for name in wanted:
        if name in existing:
            _read_topic(settings, name, topics)
    return [compare_collection(name, documents, topics[name]) for name, documents in read.items()]


def _find_tasks(client: Client, config: MongoConfig, deployment: Deployment) -> list[MongoConfig]:
    """Return the configuration of each agent that fills the topics: one per shard, or just one."""
    if config.properties.connection_mode != "replica_set":
        return [config]
    if deployment.is_config_server:
        raise ConfigError(
            "`compare` reads all shards through a mongos, but a config server answers at "
            f"{config.client.address}. Name a mongos in `mongodb.hosts` or "
            "`mongodb.connection.string`."
        )
    if not deployment.is_sharded:
        return [config]
    shards = list_shards(client)
    if len(shards) > 1 and config.properties.position_store == "file":
        raise ConfigError(
            f"The {len(shards)} shards have one task each. `compare` reads the offsets of all "
            "tasks, so it requires `position.store=kafka`. If the offsets are in files, use an "
            "agent with `mongodb.connection.mode=sharded`."
        )
    return [config_at_shard(config, shard) for shard in shards]


def _split(name: str) -> tuple[str, str]:
    database, _, collection = name.partition(".")
    return database, collection


def _choose(client: Client, config: MongoConfig, names: tuple[str, ...]) -> list[CollectionInfo]:
    """Select the captured collections, or only `names`, which may have been dropped."""
    listed = list_in_scopes(client, config)
    by_name = {each.namespace: each for each in captured_among(listed, config)}
    existing = {each.namespace for each in listed}
    for name in names:
        database, collection = _split(name)
        if name not in existing and config.namespaces.captures(database, collection):
            by_name[name] = CollectionInfo(database, collection)
    for name in names:
        if name not in by_name:
            raise ConfigError(
                f"The agent does not capture {name}. `mongo-agent plan` shows the reason."
            )
    return [by_name[name] for name in dict.fromkeys(names or by_name)]


def _read_time(client: Client) -> ClusterTime:
    try:
        return read_cluster_time(client)
    except StreamFailedError as error:
        raise UnavailableError(
            f"MongoDB returns no cluster time: {error}. Check `rs.status()`."
        ) from error


def _read_documents(
    client: Client, encode: MongoEncoder, collection: CollectionInfo
) -> dict[bytes, bytes]:
    """Read document digests by message key, encoded as in a snapshot."""
    found: dict[bytes, bytes] = {}
    command: dict[str, Any] = {"find": collection.name, "batchSize": _DOCUMENTS}
    command["readConcern"] = {"level": "majority"}
    try:
        # The driver decodes later batches with the database's codec options, not the command's.
        database = client.get_database(collection.database, codec_options=RAW)
        with database.cursor_command(
            command, read_preference=client.read_preference, codec_options=RAW
        ) as cursor:
            cursor.batch_size(_DOCUMENTS)
            for documents in _batches(bytes(each.raw) for each in cursor):
                found.update(_encode(encode, collection, documents))
    except PyMongoError as error:
        raise server_error(error) from error
    return found


def _batches(documents: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Group documents into lists, bounded in number and bytes."""
    batch: list[bytes] = []
    size_bytes = 0
    for document in documents:
        if len(batch) >= _DOCUMENTS or (batch and size_bytes + len(document) > _BATCH_BYTES):
            yield batch
            batch, size_bytes = [], 0
        batch.append(document)
        size_bytes += len(document)
    if batch:
        yield batch


def _encode(
    encode: MongoEncoder, collection: CollectionInfo, documents: list[bytes]
) -> Iterator[tuple[bytes, bytes]]:
    batch = encode.encode_snapshot(
        documents,
        database=collection.database,
        collection=collection.name,
        cluster_time=(0, 1),
        read_at_ms=0,
        snapshot="true",
    )
    for _, key, value, headers, _ in batch.messages(0, len(batch)):
        state = document_state(value, headers)
        if state is not None:
            yield key, state.state


def _wait_for_delivery(
    tasks: Sequence[MongoConfig], deployment: Deployment, read_to: ClusterTime, wait_s: float
) -> None:
    until_s = time.monotonic() + wait_s
    while True:
        reached = _read_reached(tasks, deployment)
        if reached is not None and reached > read_to:
            return
        if time.monotonic() >= until_s:
            where = "No offset is stored" if reached is None else f"The stored offset is {reached}"
            raise UnavailableError(
                f"{where}; the documents were read up to {read_to}. Check that the agent runs and "
                "delivers, or raise --wait. On an idle server the offset advances every ten "
                "seconds, with the server's no-op."
            )
        time.sleep(_POLL_INTERVAL_S)


def _read_reached(tasks: Sequence[MongoConfig], deployment: Deployment) -> ClusterTime | None:
    """Return the time up to which every task has delivered, or None if an offset is missing."""
    times: list[ClusterTime] = []
    for task in tasks:
        streams = _load_offsets(task, deployment)
        if not streams:
            return None
        times += [offset.stream.time for offset in streams]
    return min(times)


def _load_offsets(task: MongoConfig, deployment: Deployment) -> Collection[StreamOffset]:
    values = load_offsets(task, deployment).values
    cluster = deployment.cluster if task.shard is None else stored_cluster(values)
    return parse_offsets(values, cluster).streams.values()


def _read_topic(settings: Any, name: str, topics: dict[str, TopicState]) -> None:
    for record in committed_records(settings, name, _ANSWER_S):
        try:
            state = document_state(record.value, record.headers)
        except ValueError as error:
            raise ConfigError(
                f"The topic {name} does not contain JSON; `compare` supports only JSON."
            ) from (error)
        if state is not None and state.collection in topics:
            topics[state.collection].record(record.key or b"", state)
