"""Transformed documents in Avro: schemas and bytes equal those of Confluent's converter for the
messages that `test_transforms` compares with Debezium's."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from bson import Binary, ObjectId

from mongo_agent.encoder import MongoTransform
from tests.oracle.debezium_mongodb import transformations, typed_documents
from tests.oracle.debezium_mongodb.connect import read_by_connect, with_namespaces
from tests.oracle.debezium_mongodb.transformed_records import may_be_rejected
from tests.support.avro.reading import Ids
from tests.support.mongodb.bson_documents import event
from tests.support.mongodb.encodings import encoder, registered
from tests.support.seeds import draw_seed

DOCUMENTS, RANDOM_OPTIONS, LEAST_COMPARED = 40, 6, 100
LOST = ("NaN", "Infinity", "-0.0")


def seeded() -> Random:
    seed = draw_seed()
    return Random(seed)


def changes(random: Random) -> Iterator[bytes]:
    for number in range(DOCUMENTS):
        key = random.choice((number, str(number), ObjectId(), {"k": number}))
        document = {"_id": key, **typed_documents.document(random)}
        yield event("insert", key, fullDocument=document)
        fields = {"new.deep": typed_documents.leaf(random)}
        yield event("update", key, updateDescription={"updatedFields": fields})
        yield event("delete", key, fullDocumentBeforeChange=document)


def outbox(random: Random) -> Iterator[bytes]:
    for number in range(DOCUMENTS):
        document = {
            "_id": number,
            "aggregatetype": random.choice(("order", "bill")),
            "kind": "ok",
            "aggregateid": random.choice((str(number), number)),
            "payload": random.choice(
                ("text", number, None, Binary(b"x"), {"a": number, "b": [{"c": "d"}]}, {})
            ),
            "nested": {"a": [1, 2], "b": {"c": "d"}},
            "number": number,
            "flag": True,
            "half": 0.5,
        }
        yield event("insert", number, fullDocument=document)


def test_avro_documents_equal_those_of_the_confluent_converter() -> None:
    random = seeded()
    all_options = [transformations.extract_document(random) for _ in range(RANDOM_OPTIONS)]
    for options in all_options:
        # Avro allows only adjusted names.
        options["field.name.adjustment.mode"] = "avro"
        options |= {"flatten.struct.delimiter": "__", "add.fields.prefix": "meta_"}
        # Both encoders have their own clock.
        options["add.fields"] = options.get("add.fields", "").replace("ts_ms:at", "")
    compare(
        [
            (transformations.ours(options).transforms, tuple(changes(random)))
            for options in all_options
        ]
    )


def test_avro_outbox_equals_that_of_the_confluent_converter() -> None:
    random = seeded()
    compare(
        [
            (
                transformations.ours(
                    {
                        "collection.field.event.key": "aggregateid",
                        "collection.expand.json.payload": random.choice(("true", "false")),
                        "collection.fields.additional.placement": placed,
                    },
                    transformations.EVENT_ROUTER,
                ).transforms,
                tuple(outbox(random)),
            )
            for placed in ("", "kind:envelope:of,nested:envelope", "number:header,half:envelope")
        ]
    )


def compare(given: Sequence[tuple[Sequence[MongoTransform], Sequence[bytes]]]) -> None:
    outcomes: Counter[str] = Counter()
    pairs: list[tuple[bytes, Any, bytes]] = []
    for transforms, events in given:
        ids = Ids()
        avro, typed = (
            encoder(
                topic_prefix="p",
                transforms=transforms,
                key=encoding,
                value=encoding,
                names="avro",
                schema_ids=ids.ids,
            )
            for encoding in ("avro", "json_with_schema")
        )
        for each in events:
            own, read = registered(avro, ids, [each]), typed.encode([each])
            assert [failure.cause for failure in own.failures] == [
                failure.cause for failure in read.failures
            ]
            if own.failures:
                outcomes["rejected"] += 1
                assert may_be_rejected(own.failures[0].cause)
                continue
            for (_, key, value, *_), (_, typed_key, typed_value, *_) in zip(
                own.messages(0, len(own)), read.messages(0, len(read)), strict=True
            ):
                pairs.append((typed_key, *parts(ids, key)))
                assert (value is None) == (typed_value is None)
                if value is not None and typed_value is not None:
                    pairs.append((typed_value, *parts(ids, value)))
    found = read_by_connect(message for message, _, _ in pairs)
    for (message, schema, written), read_again in zip(pairs, found, strict=True):
        assert with_namespaces(schema) == with_namespaces(json.loads(read_again.schema)), message
        # Connect reads another number from such texts.
        if not any(name in message.decode() for name in LOST):
            outcomes["messages"] += 1
            assert written == read_again.avro, message
    print(dict(outcomes))
    assert outcomes["messages"] > LEAST_COMPARED


def parts(ids: Ids, message: bytes) -> tuple[Any, bytes]:
    """Schema and bytes."""
    assert message[0] == 0
    return json.loads(ids.schema(int.from_bytes(message[1:5], "big"))), message[5:]
