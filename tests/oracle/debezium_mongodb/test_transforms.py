"""Debezium's transformations of the records of its connector, and ours of the same changes."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from random import Random
from typing import Any

import pytest
from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient

from mongo_agent.change_stream.settings import StreamOptions
from mongo_agent.config.transforms import Transforms
from mongo_agent.documents.cluster_time import ClusterTime
from mongo_agent.encoder import MongoBatch, MongoEncoder
from tests.oracle.debezium_mongodb import ours, transformations, typed_documents
from tests.oracle.debezium_mongodb.engines import EmbeddedEngines, PeerRecord
from tests.oracle.debezium_mongodb.workload import END, Workload
from tests.support.mongo_server import MongoReplicaSet

pytestmark = pytest.mark.servers

STEPS, TYPED_STEPS, RANDOM_OPTIONS = 60, 120, 5
OUTBOX_STEPS, LEAST_COMPARED = 80, 20
TIME = "collection.field.event.timestamp"
CLOCK = ("__ts_ms", "meta.ts_ms", "__at", "meta.at", "ts_ms", "at", "kafka.timestamp")
STREAMS: Mapping[str, tuple[str, StreamOptions]] = {
    "plain": ("change_streams", StreamOptions("default")),
    "images": (
        "change_streams_update_full_with_pre_image",
        StreamOptions("updateLookup", "whenAvailable"),
    ),
}


@dataclass(frozen=True)
class TransformedStream:
    """The events of a stream, and what Debezium's transformations make of them."""

    events: list[bytes]
    records: Mapping[str, list[PeerRecord]]
    """By transformation: one for each record of the connector, dropped and rejected ones too."""


@dataclass(frozen=True)
class Comparison:
    options: Mapping[str, Mapping[str, str]]
    routers: Mapping[str, Mapping[str, str]]
    streams: Mapping[str, TransformedStream]


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Comparison]:
    seed = int.from_bytes(os.urandom(4))
    print(f"seed {seed}")
    random = Random(seed)
    options = {"default": dict[str, str]()}
    for number in range(RANDOM_OPTIONS):
        options[f"random{number}"] = transformations.extract_document(random)
    routers = {"router": {"collection.field.event.key": "aggregateid"}}
    for number in range(RANDOM_OPTIONS):
        routers[f"router{number}"] = transformations.event_router(random)
    with (
        MongoReplicaSet(version="6.0.20") as server,
        MongoClient[Any](server.connection_string) as client,
        EmbeddedEngines(
            tmp_path_factory.mktemp("debezium"), program="TransformedRecords"
        ) as engines,
    ):
        workload = Workload(client, random)
        workload.prepare(3)
        images = {"enabled": True}
        client.shop.create_collection(
            typed_documents.COLLECTION[1], changeStreamPreAndPostImages=images
        )
        started_at = workload.write_until_heard()
        workload.run(STEPS)
        typed_documents.write(client, random, TYPED_STEPS)
        typed_documents.outbox(client, random, OUTBOX_STEPS)
        workload.end()
        at = ClusterTime(started_at.time, started_at.inc)
        streams = {}
        for name, (mode, stream_options) in STREAMS.items():
            properties = {
                "capture.mode": mode,
                "capture.start.op.time": str(started_at.time << 32 | started_at.inc),
                "snapshot.mode": "no_data",
                "provide.transaction.metadata": "true",
            }
            for smt, own in options.items():
                properties[f"smt.{smt}.type"] = transformations.EXTRACT_DOCUMENT
                properties |= {f"smt.{smt}.{option}": value for option, value in own.items()}
            for smt, own in routers.items():
                properties[f"smt.{smt}.type"] = transformations.EVENT_ROUTER
                properties |= {f"smt.{smt}.{option}": value for option, value in own.items()}
            engines.start(name, server.connection_string, properties)
            events = ours.events_since(at, client, stream_options)
            found = {smt: engines.records(f"{name}/{smt}", is_done) for smt in options}
            is_whole = partial(has_as_many, found["default"])
            for smt in routers:
                found[smt] = engines.records(f"{name}/{smt}", is_whole)
            streams[name] = TransformedStream(events, found)
        yield Comparison(options, routers, streams)


def has_as_many(others: Sequence[PeerRecord], records: list[PeerRecord]) -> bool:
    return len(records) >= len(others)


def is_done(records: list[PeerRecord]) -> bool:
    return bool(records) and records[-1].topic.endswith(f".{END[0]}.{END[1]}")


def of_events(events: Sequence[bytes], records: Sequence[PeerRecord]) -> Iterator[list[PeerRecord]]:
    """The records of each event, without those of transactions."""
    left = iter([each for each in records if not each.topic.endswith(".transaction")])
    for event in events:
        count = 2 if RawBSONDocument(event)["operationType"] == "delete" else 1
        yield [next(left) for _ in range(count)]
    assert next(left, None) is None


@pytest.mark.parametrize("stream", STREAMS)
def test_documents_are_those_of_extract_new_document_state(
    compared: Comparison, stream: str
) -> None:
    given = compared.streams[stream]
    events = [each for each in given.events if is_of_document(each)]
    for name, options in compared.options.items():
        encoder = MongoEncoder(
            topic_prefix=stream,
            replica_set="rs0",
            node_id="agent",
            transaction_topic=f"{stream}.transaction",
            transforms=transformations.ours(options).transforms,
        )
        outcomes: Counter[str] = Counter()
        transaction = None
        for event, theirs in zip(events, of_events(events, given.records[name]), strict=True):
            batch = encoder.encode([event], transaction=transaction)
            transaction = batch.transaction_after(1)
            messages = [
                PeerRecord(topic, key, value, tuple(headers))
                for topic, key, value, headers, _ in batch.messages(0, len(batch))
                if not topic.endswith(".transaction")
            ]
            outcome = theirs[0].outcome.split(":")[0]
            outcomes[outcome] += 1
            if outcome == "rejected":
                assert [json.loads(each.value or b"null") for each in messages] or batch.failures
                continue
            if batch.failures:
                # Debezium retains one of two fields whose adjusted names are equal.
                assert "twice" in batch.failures[0].cause
                assert "avro" in options["field.name.adjustment.mode"]
                outcomes["twice"] += 1
                continue
            expected = [shown(each) for each in theirs if each.outcome == "record"]
            found = [shown(each) for each in messages]
            assert as_there(found, expected) == expected, f"{name}: {options} {event!r}"
            for our, their in zip(messages, theirs, strict=False):
                assert our.key == their.key or shown(our)[1] != shown(their)[1]
        print(name, options, dict(outcomes))
        # Most random documents have arrays of several types, which Debezium rejects.
        assert outcomes["record"] > LEAST_COMPARED


@pytest.mark.parametrize("stream", STREAMS)
def test_schemas_are_those_of_extract_new_document_state(compared: Comparison, stream: str) -> None:
    given = compared.streams[stream]
    events = [each for each in given.events if is_of_document(each)]
    for name, options in compared.options.items():
        encoder = typed_encoder(stream, transformations.ours(options))
        outcomes: Counter[str] = Counter()
        transaction = None
        for event, theirs in zip(events, of_events(events, given.records[name]), strict=True):
            batch = encoder.encode([event], transaction=transaction)
            transaction = batch.transaction_after(1)
            outcome = theirs[0].outcome.split(":")[0]
            if outcome == "record" and batch.failures:
                outcome = "rejected here"
                assert may_be_rejected(batch.failures[0].cause), batch.failures
            outcomes[outcome] += 1
            if outcome in ("rejected", "rejected here"):
                continue
            found = [
                typed(key, value)
                for topic, key, value, _, _ in batch.messages(0, len(batch))
                if not topic.endswith(".transaction")
            ]
            expected = [theirs_typed(each) for each in theirs if each.outcome == "record"]
            is_partial = RawBSONDocument(event)["operationType"] in ("update", "delete")
            found = [
                (as_parsed(key, other[0]), as_parsed(value, other[1]) if is_partial else value)
                for (key, value), other in zip(found, expected, strict=True)
            ]
            assert as_there(found, expected) == expected, f"{name}: {options} {event!r}"
        print(name, options, dict(outcomes))
        assert outcomes["record"] > LEAST_COMPARED


def test_schemas_of_an_outbox_are_those_of_mongo_event_router(compared: Comparison) -> None:
    given = compared.streams["plain"]
    events = [each for each in given.events if is_of_document(each)]
    for name, options in compared.routers.items():
        encoder = typed_encoder(
            "plain", transformations.ours(options, transformations.EVENT_ROUTER)
        )
        outcomes: Counter[str] = Counter()
        for event, theirs in zip(events, of_events(events, given.records[name]), strict=True):
            if RawBSONDocument(event)["ns"]["coll"] != typed_documents.OUTBOX[1]:
                continue
            batch = encoder.encode([event])
            outcome = theirs[0].outcome.split(":")[0]
            outcomes[outcome] += 1
            if outcome == "rejected":
                continue
            found = [
                without_cached(typed(key, value))
                for _, key, value, _, _ in batch.messages(0, len(batch))
            ]
            expected = [
                without_cached(theirs_typed(each)) for each in theirs if each.outcome == "record"
            ]
            assert found == expected, f"{name}: {options} {event!r} {batch.failures}"
        print(name, options, dict(outcomes))
        assert outcomes["record"] > LEAST_COMPARED


def typed_encoder(prefix: str, transforms: Transforms) -> MongoEncoder:
    return MongoEncoder(
        topic_prefix=prefix,
        replica_set="rs0",
        node_id="agent",
        transaction_topic=f"{prefix}.transaction",
        transforms=transforms.transforms,
        key="json_with_schema",
        value="json_with_schema",
    )


def may_be_rejected(cause: str) -> bool:
    """Debezium loses a field or an element of such an event."""
    return "twice" in cause or "several types" in cause


def typed(key: bytes | None, value: bytes | None) -> tuple[Any, Any]:
    """Key and value with their schemas, without the clock of the sender, and without the numbers in
    a transaction: rejected events are counted there only."""
    found = None if value is None else json.loads(value)
    if found is not None and isinstance(found["payload"], dict):
        found["payload"] = {
            name: each
            for name, each in found["payload"].items()
            if name not in CLOCK and not name.endswith("total_order")
        }
    return json.loads(key or b"null"), found


def without_cached(found: tuple[Any, Any]) -> tuple[Any, Any]:
    """Without what Debezium takes from the first event with such a payload: the name of the schema
    of an envelope, and whether it has absent fields."""
    key, value = found
    if value is None or not str(value["schema"].get("name")).endswith(".Json"):
        return key, value
    payload = {name: each for name, each in value["payload"].items() if each is not None}
    fields = [each for each in value["schema"]["fields"] if each["field"] in payload]
    return key, {"schema": {**value["schema"], "name": "", "fields": fields}, "payload": payload}


def as_parsed(our: Any, their: Any) -> Any:
    """Ours with the schemas of Debezium, which parses keys and updated fields from JSON: there, a
    long that an int can hold is one."""
    if isinstance(our, dict) and isinstance(their, dict):
        if our.get("type") == "int64" and their.get("type") == "int32" and "name" not in our:
            our = {**our, "type": "int32"}
        return {name: as_parsed(each, their.get(name)) for name, each in our.items()}
    if isinstance(our, list) and isinstance(their, list):
        return [as_parsed(each, other) for each, other in zip_longest(our, their)]
    return our


def theirs_typed(record: PeerRecord) -> tuple[Any, Any]:
    headers = dict(record.headers)
    return typed(headers["kafka.typed.key"], headers["kafka.typed.value"])


def test_messages_of_an_outbox_are_those_of_mongo_event_router(compared: Comparison) -> None:
    given = compared.streams["plain"]
    events = [each for each in given.events if is_of_document(each)]
    for name, options in compared.routers.items():
        transforms = transformations.ours(options, transformations.EVENT_ROUTER).transforms
        encoder = MongoEncoder(
            topic_prefix="plain", replica_set="rs0", node_id="agent", transforms=transforms
        )
        outcomes: Counter[str] = Counter()
        for event, theirs in zip(events, of_events(events, given.records[name]), strict=True):
            if RawBSONDocument(event)["ns"]["coll"] != typed_documents.OUTBOX[1]:
                continue
            batch = encoder.encode([event])
            found = [
                (*without_null(shown(PeerRecord(topic, key, value, tuple(headers)))), *placement)
                for (topic, key, value, headers, _), placement in zip(
                    batch.messages(0, len(batch)), placements(batch), strict=True
                )
            ]
            outcome = theirs[0].outcome.split(":")[0]
            outcomes[outcome] += 1
            message = f"{name}: {options} {event!r} {theirs} {batch.failures}"
            if outcome == "rejected":
                # Arrays of several types are no reason here.
                assert found or batch.failures, message
                continue
            expected = [
                (*without_null(shown(each)), *their_placement(each, TIME in options))
                for each in theirs
                if each.outcome == "record"
            ]
            assert found == expected, message
            assert batch.failures == [], message
        print(name, options, dict(outcomes))
        assert outcomes["record"] > LEAST_COMPARED


def without_null(found: tuple[Any, ...]) -> tuple[Any, ...]:
    """Whether Debezium has a member for an absent field depends on the documents before it."""
    topic, key, value, headers = found
    if isinstance(value, dict):
        more = ("maybe", "nested", "of")
        value = {name: each for name, each in value.items() if name not in more or each is not None}
    return topic, key, value, headers


def placements(batch: MongoBatch) -> Iterator[tuple[int, int | None]]:
    """Kafka's time of each message, 0 for now; its partition if that is not of the key."""
    # So many partitions that none of a key is also the number of a field.
    count = 2**31 - 1
    one = batch.produce_arguments(0, len(batch), lambda _: count, print)
    hashes = [each[4] for each in batch.messages(0, len(batch))]
    for arguments, key_hash in zip(one, hashes, strict=True):
        yield arguments[6], None if arguments[3] == key_hash % count else arguments[3]


def their_placement(record: PeerRecord, has_time: bool) -> tuple[int, int | None]:
    headers = dict(record.headers)
    partition = headers["kafka.partition"]
    time = int(headers["kafka.timestamp"] or 0) if has_time else 0
    return time, None if partition == b"null" else int(partition or 0)


def as_there(our: Any, their: Any) -> Any:
    """Ours with what Debezium loses: docs/reference/mongodb-event-format.md, section 13."""
    if isinstance(our, dict) and isinstance(their, dict):
        return {
            name: as_there(each, their.get(name))
            for name, each in our.items()
            # An empty array in an array, which is an object.
            if name in their or each not in ({}, None)
        }
    if isinstance(our, list | tuple) and isinstance(their, list | tuple):
        if len(our) > len(their):
            # Empty arrays in an array.
            our = [each for each in our if each != []]
        pairs = zip_longest(our, their[: len(our)])
        return type(their)(
            None if has_no_type(each) and other is None else as_there(each, other)
            for each, other in pairs
        )
    # Seconds of a timestamp from 2038 on.
    is_negative = isinstance(our, int) and isinstance(their, int) and their < 0 < our
    return their if is_negative and our - their == 1000 << 32 else our


def has_no_type(value: Any) -> bool:
    """Whether Debezium writes null for such a value between the documents of an array."""
    if isinstance(value, dict):
        return value.keys() in ({"regex", "options"}, {"code", "scope"})
    return value in ("MinKey", "MaxKey")


def is_of_document(event: bytes) -> bool:
    return RawBSONDocument(event)["operationType"] in ("insert", "update", "replace", "delete")


def shown(record: PeerRecord) -> tuple[Any, ...]:
    """What both must have in common: all but the clock of the sender."""
    value = None if record.value is None else json.loads(record.value)
    if isinstance(value, dict):
        value = {name: each for name, each in value.items() if name not in CLOCK}
    headers = {
        name: each
        for name, each in record.headers
        if each is not None
        and name not in CLOCK
        and not name.startswith(("cdc.", "kafka.", "__debezium"))
    }
    return record.topic, json.loads(record.key or b"null"), value, headers
