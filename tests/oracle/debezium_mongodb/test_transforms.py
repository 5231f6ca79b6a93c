"""Debezium's transformations of the records of its connector, and ours of the same changes."""

import json
from collections import Counter
from collections.abc import Mapping

import pytest
from bson.raw_bson import RawBSONDocument

from mongo_agent.config.converters import OutboxConverter
from mongo_agent.config.transforms import Transforms
from mongo_agent.encoder import MongoEncoder
from tests.oracle.debezium_mongodb import transformations, typed_documents
from tests.oracle.debezium_mongodb.engines import PeerRecord
from tests.oracle.debezium_mongodb.transformed_records import (
    as_parsed,
    as_there,
    is_of_document,
    may_be_rejected,
    of_events,
    placements,
    shown,
    their_placement,
    theirs_typed,
    typed,
    without_cached,
    without_null,
    without_snapshot,
)
from tests.oracle.debezium_mongodb.transformed_streams import COPIED, STREAMS, Comparison, compare

pytestmark = pytest.mark.servers

LEAST_COMPARED, LEAST_ROUTED = 20, 3
EXPANDED = "collection.expand.json.payload"
TIME = "collection.field.event.timestamp"
CONVERTERS: tuple[OutboxConverter, ...] = ("string", "bytes", "binary")


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    return compare(tmp_path_factory.mktemp("debezium"))


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
        assert outcomes["record"] > LEAST_ROUTED


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
        assert outcomes["record"] > LEAST_ROUTED


@pytest.mark.parametrize("is_router", [False, True])
def test_documents_of_a_snapshot_are_transformed_as_there(
    compared: Comparison, is_router: bool
) -> None:
    kind = transformations.EVENT_ROUTER if is_router else transformations.EXTRACT_DOCUMENT
    own = COPIED[is_router][1]
    for name, options in (compared.routers if is_router else compared.options).items():
        transforms = transformations.ours(options, kind).transforms
        encoder = MongoEncoder(
            topic_prefix="copy", replica_set="rs0", node_id="agent", transforms=transforms
        )
        outcomes: Counter[str] = Counter()
        for (collection, document), their in zip(
            compared.copied, compared.copies[name], strict=True
        ):
            if collection != own:
                continue
            batch = encoder.encode_snapshot(
                [document],
                database="shop",
                collection=collection,
                cluster_time=(1, 1),
                read_at_ms=0,
                snapshot="true",
            )
            found = [
                without_snapshot(without_null(shown(PeerRecord(topic, key, value, tuple(headers)))))
                for topic, key, value, headers, _ in batch.messages(0, len(batch))
            ]
            outcome = their.outcome.split(":")[0]
            outcomes[outcome] += 1
            message = f"{name}: {options} {document!r} {their} {batch.failures}"
            if outcome == "rejected" or any("twice" in each.cause for each in batch.failures):
                assert found or batch.failures, message
                continue
            expected = without_snapshot(without_null(shown(their)))
            assert as_there(found, [expected]) == [expected], message
        print(name, options, dict(outcomes))
        assert outcomes["record"] > LEAST_ROUTED
        assert outcomes.keys() <= {"record", "rejected"}


def test_converters_write_an_outbox_as_those_of_connect(compared: Comparison) -> None:
    given = compared.streams["plain"]
    events = [each for each in given.events if is_of_document(each)]
    outcomes: Counter[str] = Counter()
    for name, options in compared.routers.items():
        if "envelope" in options.get("collection.fields.additional.placement", ""):
            continue
        records = list(zip(events, of_events(events, given.records[name]), strict=True))
        for converter in CONVERTERS:
            transforms = transformations.ours(
                options, transformations.EVENT_ROUTER, converter
            ).transforms
            encoder = MongoEncoder(
                topic_prefix="plain", replica_set="rs0", node_id="agent", transforms=transforms
            )
            for event, (their, *_) in records:
                if their.outcome != "record":
                    continue
                document = RawBSONDocument(event)["fullDocument"]
                batch = encoder.encode([event])
                columns = dict(their.headers)
                names = (f"kafka.{converter}.key", f"kafka.{converter}.value")
                payload = document["payload"]
                message = f"{options} {converter} {event!r} {their} {batch.failures}"
                if not columns.keys() >= set(names):
                    outcomes[f"{converter} rejects"] += 1
                    assert converter == "bytes", message
                    assert batch.failures or payload is None, message
                    continue
                # A Java object's own text.
                is_object = converter == "string" and (
                    isinstance(payload, bytes)
                    or (isinstance(payload, Mapping) and options.get(EXPANDED) == "true")
                )
                ((_, key, value, _, _),) = batch.messages(0, 9)
                outcomes[converter] += 1
                assert key == columns[names[0]], message
                theirs = columns[names[1]]
                if converter == "binary" and not isinstance(payload, bytes):
                    found, expected = (json.loads(each or b"null") for each in (value, theirs))
                    assert as_there(found, expected) == expected, message
                else:
                    assert is_object or value == theirs, message
    print(dict(outcomes))
    assert min(outcomes[each] for each in ("string", "binary", "bytes rejects")) > LEAST_ROUTED
