"""Debezium's transformations of its connector's records, and ours of the same changes."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from bson.raw_bson import RawBSONDocument

from mongo_agent.config.converters import OutboxConverter
from mongo_agent.encoder import MongoBatch, MongoEncoder
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
from tests.support.mongodb.encodings import copied, encoder

pytestmark = pytest.mark.servers

EXTRACT, ROUTER = transformations.EXTRACT_DOCUMENT, transformations.EVENT_ROUTER
LEAST, LEAST_ROUTED = 20, 3
OUTBOX = typed_documents.OUTBOX[1]
TYPED = {"key": "json_with_schema", "value": "json_with_schema"}
EXPANDED = "collection.expand.json.payload"
TIME = "collection.field.event.timestamp"
CONVERTERS: tuple[OutboxConverter, ...] = ("string", "bytes", "binary")


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    return compare(tmp_path_factory.mktemp("debezium"))


def encoders(
    compared: Comparison, kind: str, least: int, prefix: str, **choices: Any
) -> Iterator[tuple[str, Mapping[str, str], MongoEncoder, Counter[str]]]:
    """For each choice of options its encoder, and a counter of the outcomes of its events."""
    is_router = kind == transformations.EVENT_ROUTER
    for name, options in (compared.routers if is_router else compared.options).items():
        transforms = transformations.ours(options, kind).transforms
        outcomes: Counter[str] = Counter()
        making = encoder(topic_prefix=prefix, transforms=transforms, **choices)
        yield name, options, making, outcomes
        print(name, options, dict(outcomes))
        # Most random documents contain arrays of several types, which Debezium rejects.
        assert outcomes["record"] > least


def pairs(
    compared: Comparison, stream: str, name: str, collection: str | None = None
) -> Iterator[tuple[bytes, list[PeerRecord]]]:
    """Events of documents, with the result of Debezium's transformation."""
    given = compared.streams[stream]
    events = [each for each in given.events if is_of_document(each)]
    for event, theirs in zip(events, of_events(events, given.records[name]), strict=True):
        if collection in (None, RawBSONDocument(event)["ns"]["coll"]):
            yield event, theirs


def messages(batch: MongoBatch) -> list[PeerRecord]:
    """Messages of documents."""
    return [
        PeerRecord(topic, key, value, tuple(headers))
        for topic, key, value, headers, _ in batch.messages(0, len(batch))
        if not topic.endswith(".transaction")
    ]


def records(theirs: list[PeerRecord]) -> list[PeerRecord]:
    return [each for each in theirs if each.outcome == "record"]


def outcome_of(theirs: list[PeerRecord]) -> str:
    return theirs[0].outcome.split(":")[0]


@pytest.mark.parametrize("stream", STREAMS)
def test_documents_equal_extract_new_document_state(compared: Comparison, stream: str) -> None:
    topic = {"transaction_topic": f"{stream}.transaction"}
    for name, options, making, outcomes in encoders(compared, EXTRACT, LEAST, stream, **topic):
        transaction = None
        for event, theirs in pairs(compared, stream, name):
            batch = making.encode([event], transaction=transaction)
            transaction = batch.transaction_after(1)
            own = messages(batch)
            outcome = outcome_of(theirs)
            outcomes[outcome] += 1
            if outcome == "rejected":
                assert [json.loads(each.value or b"null") for each in own] or batch.failures
                continue
            if batch.failures:
                # Debezium keeps one of two fields whose adjusted names are equal.
                assert "twice" in batch.failures[0].cause
                assert "avro" in options["field.name.adjustment.mode"]
                outcomes["twice"] += 1
                continue
            found, expected = ([*map(shown, each)] for each in (own, records(theirs)))
            assert as_there(found, expected) == expected, f"{name}: {options} {event!r}"
            for our, their in zip(own, theirs, strict=False):
                assert our.key == their.key or shown(our)[1] != shown(their)[1]


@pytest.mark.parametrize("stream", STREAMS)
def test_schemas_equal_extract_new_document_state(compared: Comparison, stream: str) -> None:
    topic = {"transaction_topic": f"{stream}.transaction"}
    for name, options, making, outcomes in encoders(
        compared, EXTRACT, LEAST, stream, **topic, **TYPED
    ):
        transaction = None
        for event, theirs in pairs(compared, stream, name):
            batch = making.encode([event], transaction=transaction)
            transaction = batch.transaction_after(1)
            outcome = outcome_of(theirs)
            if outcome == "record" and batch.failures:
                outcome = "rejected here"
                assert may_be_rejected(batch.failures[0].cause), batch.failures
            outcomes[outcome] += 1
            if outcome in ("rejected", "rejected here"):
                continue
            found = [typed(each.key, each.value) for each in messages(batch)]
            expected = [theirs_typed(each) for each in records(theirs)]
            is_partial = RawBSONDocument(event)["operationType"] in ("update", "delete")
            found = [
                (as_parsed(key, other[0]), as_parsed(value, other[1]) if is_partial else value)
                for (key, value), other in zip(found, expected, strict=True)
            ]
            assert as_there(found, expected) == expected, f"{name}: {options} {event!r}"


def test_outbox_schemas_equal_those_of_mongo_event_router(compared: Comparison) -> None:
    for name, options, making, outcomes in encoders(
        compared, ROUTER, LEAST_ROUTED, "plain", **TYPED
    ):
        for event, theirs in pairs(compared, "plain", name, OUTBOX):
            batch = making.encode([event])
            outcomes[outcome_of(theirs)] += 1
            if outcome_of(theirs) == "rejected":
                continue
            found = [without_cached(typed(each.key, each.value)) for each in messages(batch)]
            expected = [without_cached(theirs_typed(each)) for each in records(theirs)]
            assert found == expected, f"{name}: {options} {event!r} {batch.failures}"


def test_outbox_messages_equal_those_of_mongo_event_router(compared: Comparison) -> None:
    for name, options, making, outcomes in encoders(compared, ROUTER, LEAST_ROUTED, "plain"):
        for event, theirs in pairs(compared, "plain", name, OUTBOX):
            batch = making.encode([event])
            found = [
                (*without_null(shown(each)), *placement)
                for each, placement in zip(messages(batch), placements(batch), strict=True)
            ]
            outcomes[outcome_of(theirs)] += 1
            message = f"{name}: {options} {event!r} {theirs} {batch.failures}"
            if outcome_of(theirs) == "rejected":
                # Arrays of several types are not rejected here.
                assert found or batch.failures, message
                continue
            expected = [
                (*without_null(shown(each)), *their_placement(each, TIME in options))
                for each in records(theirs)
            ]
            assert found == expected, message
            assert batch.failures == [], message


@pytest.mark.parametrize("kind", [EXTRACT, ROUTER])
def test_snapshot_transformations_equal_those_of_debezium(compared: Comparison, kind: str) -> None:
    own = COPIED[kind == ROUTER][1]
    for name, options, making, outcomes in encoders(compared, kind, LEAST_ROUTED, "copy"):
        for (collection, document), their in zip(
            compared.copied, compared.copies[name], strict=True
        ):
            if collection != own:
                continue
            batch = copied(making, RawBSONDocument(document), collection=collection)
            found = [without_snapshot(without_null(shown(each))) for each in messages(batch)]
            outcomes[outcome_of([their])] += 1
            message = f"{name}: {options} {document!r} {their} {batch.failures}"
            is_rejected = outcome_of([their]) == "rejected"
            if is_rejected or any("twice" in each.cause for each in batch.failures):
                assert found or batch.failures, message
                continue
            expected = without_snapshot(without_null(shown(their)))
            assert as_there(found, [expected]) == [expected], message
        assert outcomes.keys() <= {"record", "rejected"}


def test_outbox_converters_equal_those_of_connect(compared: Comparison) -> None:
    outcomes: Counter[str] = Counter()
    for name, options in compared.routers.items():
        if "envelope" in options.get("collection.fields.additional.placement", ""):
            continue
        given = [*pairs(compared, "plain", name)]
        for converter in CONVERTERS:
            transforms = transformations.ours(options, ROUTER, converter).transforms
            making = encoder(topic_prefix="plain", transforms=transforms)
            for event, (their, *_) in given:
                if their.outcome != "record":
                    continue
                document = RawBSONDocument(event)["fullDocument"]
                batch = making.encode([event])
                columns = dict(their.headers)
                names = (f"kafka.{converter}.key", f"kafka.{converter}.value")
                payload = document["payload"]
                message = f"{options} {converter} {event!r} {their} {batch.failures}"
                if not columns.keys() >= set(names):
                    outcomes[f"{converter} rejects"] += 1
                    assert converter == "bytes", message
                    assert batch.failures or payload is None, message
                    continue
                # The text of a Java object.
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
