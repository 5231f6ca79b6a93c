"""Reading collections, and their topics behind them.

    time before ── documents are read ── time behind ── the agent has delivered up to it ── topics

What nobody changed between the two times has one state, which is the last one in the topic. So no
read has to be at one time, and a large collection may take as long as it needs.
"""

import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

from bson import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient
from pymongo.errors import PyMongoError
from pymongo.read_concern import ReadConcern

from mongo_agent.capture.catalogue import CollectionInfo, list_collections
from mongo_agent.change_stream.cursor import StreamFailedError, current_cluster_time
from mongo_agent.change_stream.tokens import ClusterTime
from mongo_agent.check.capture_plan import plan_of
from mongo_agent.compare.comparison import CollectionComparison, TopicState, compare_collection
from mongo_agent.compare.document_state import document_state
from mongo_agent.config import MongoConfig
from mongo_agent.encoder import MongoEncoder
from mongo_agent.offsets.agent_offsets import parse_offsets
from mongo_agent.offsets.stored_offsets import load_offsets
from mongo_agent.pipeline.stream_factory import encoder
from mongo_agent.server.deployment import Deployment
from mongo_agent.server.errors import server_error
from sidecar.errors import ConfigError, UnavailableError
from sidecar.sinks.kafka.topics.access import existing_topics
from sidecar.sinks.kafka.topics.reader import committed_records

Client = MongoClient[Any]
_RAW: CodecOptions[RawBSONDocument] = CodecOptions(document_class=RawBSONDocument)
_DOCUMENTS = 1000
_ANSWER_S = 30.0
_LOOK_INTERVAL_S = 0.5


def compare(
    client: Client,
    config: MongoConfig,
    deployment: Deployment,
    names: tuple[str, ...],
    wait_s: float,
) -> list[CollectionComparison]:
    """The captured collections, or those of them that are named. Raises UnavailableError when the
    stored position does not come behind the read within `wait_s`, ConfigError for a name that is
    not captured, and what MongoDB and Kafka raise."""
    if config.properties.uses_avro:
        raise ConfigError(
            "`key.converter` or `value.converter` asks for Avro, and `compare` reads topics in "
            "JSON alone, with or without schemas."
        )
    collections = _chosen(client, config, names)
    encode = encoder(config, deployment)
    since = _now(client)
    read = {
        f"{each.database}.{each.name}": _documents(client, encode, each) for each in collections
    }
    _wait_for_delivery(config, deployment, _now(client), wait_s)
    topics = {collection: TopicState(since) for collection in read}
    wanted = dict.fromkeys(config.topic_of(each.database, each.name) for each in collections)
    settings = config.properties.kafka_producer
    existing = existing_topics(settings, _ANSWER_S)
    for name in wanted:
        if name in existing:
            _hear(settings, name, topics)
    return [compare_collection(name, documents, topics[name]) for name, documents in read.items()]


def _chosen(client: Client, config: MongoConfig, names: tuple[str, ...]) -> list[CollectionInfo]:
    try:
        listed = list(list_collections(client, config.scopes))
    except PyMongoError as error:
        raise server_error(error) from error
    captured = [each for each in listed if plan_of(each, config).is_captured]
    by_name = {f"{each.database}.{each.name}": each for each in captured}
    for name in names:
        if name not in by_name:
            raise ConfigError(f"{name} is not captured, as `mongo-agent plan` explains.")
    return [by_name[name] for name in dict.fromkeys(names or by_name)]


def _now(client: Client) -> ClusterTime:
    try:
        return current_cluster_time(client)
    except StreamFailedError as error:
        raise UnavailableError(f"MongoDB does not tell its cluster time: {error}.") from error


def _documents(
    client: Client, encode: MongoEncoder, collection: CollectionInfo
) -> dict[bytes, bytes]:
    """Digests by the keys of messages, as a copy would make them."""
    found: dict[bytes, bytes] = {}
    concern = ReadConcern("majority")
    database = client.get_database(collection.database, _RAW, read_concern=concern)
    try:
        with database[collection.name].find({}, batch_size=_DOCUMENTS) as cursor:
            while documents := [bytes(each.raw) for each in islice(cursor, _DOCUMENTS)]:
                found.update(_encoded(encode, collection, documents))
    except PyMongoError as error:
        raise server_error(error) from error
    return found


def _encoded(
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
        said = document_state(value, headers)
        if said is not None:
            yield key, said.state


def _wait_for_delivery(
    config: MongoConfig, deployment: Deployment, behind: ClusterTime, wait_s: float
) -> None:
    until_s = time.monotonic() + wait_s
    while True:
        stored = load_offsets(config, deployment)
        lanes = parse_offsets(stored.values, deployment.cluster).lanes.values()
        reached = min((lane.stream.time for lane in lanes), default=None)
        if reached is not None and reached > behind:
            return
        if time.monotonic() >= until_s:
            where = "None is stored" if reached is None else f"The stored position is {reached}"
            raise UnavailableError(
                f"{where}, and the documents were read up to {behind}: see that the agent runs and "
                "delivers, or give it more time by --wait. On an idle server the position moves "
                "with its own no-op, every ten seconds."
            )
        time.sleep(_LOOK_INTERVAL_S)


def _hear(settings: Any, name: str, topics: dict[str, TopicState]) -> None:
    for record in committed_records(settings, name, _ANSWER_S):
        try:
            said = document_state(record.value, record.headers)
        except ValueError as error:
            raise ConfigError(f"The topic {name} does not hold JSON, which alone is read.") from (
                error
            )
        if said is not None and said.collection in topics:
            topics[said.collection].hear(record.key or b"", said)
