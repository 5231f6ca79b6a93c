"""Kafka Connect's `transforms` and `predicates` in a file for Debezium's connector."""

import json
from pathlib import Path

import pytest
from bson import Int64

from mongo_agent.pipeline.stream_factory import encoder
from mongo_agent.server.deployment import Deployment
from tests.support.mongodb.bson_documents import event
from tests.support.mongodb.properties import Settings, given, load, problems

TYPE = "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState"
UNWRAP: Settings = {"transforms": "unwrap", "transforms.unwrap.type": TYPE}
MATCHES = "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"
PREDICATE: Settings = {
    "predicates": "p",
    "predicates.p.type": MATCHES,
    "predicates.p.pattern": "t[.]shop[.]c.*",
}
STRING = "org.apache.kafka.connect.storage.StringConverter"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
BINARY = "io.debezium.converters.BinaryDataConverter"
DELEGATE = "delegate.converter.type"
AVRO: Settings = given(
    "value.converter=avro value.converter.schema.registry.url=http://registry:8081"
)
PLACEMENT = "collection.fields.additional.placement"
ROUTER: Settings = {
    "transforms": "outbox",
    "transforms.outbox.type": ("io.debezium.connector.mongodb.transforms.outbox.MongoEventRouter"),
    "transforms.outbox.collection.field.event.key": "aggregateid",
}


def routed(name: str, value: str | None) -> Settings:
    return {**ROUTER, f"transforms.outbox.{name}": value}


def option(name: str, value: str) -> Settings:
    return {**UNWRAP, f"transforms.unwrap.{name}": value}


def test_connector_file_transforms_documents(tmp_path: Path) -> None:
    config = load(tmp_path, option("add.fields", "op"))
    making = encoder(config, Deployment("rs0", "c", (7, 0)))
    batch = making.encode([event("insert", 1, fullDocument={"_id": 1, "a": {"b": [1]}})])
    [(topic, key, value, _, _)] = batch.messages(0, 1)
    assert (topic, key) == ("t.shop.cust", b'{"id":1}')
    assert value == b'{"_id":1,"a":{"b":[1]},"__op":"c"}'


@pytest.mark.parametrize(
    ("mode", "gone"), [(None, {"gone": None}), ("null", {"gone": None}), ("omit", {})]
)
def test_removed_fields_are_null_unless_omitted(
    mode: str | None, gone: dict[str, None], tmp_path: Path
) -> None:
    config = load(tmp_path, UNWRAP if mode is None else option("removed.fields", mode))
    making = encoder(config, Deployment("rs0", "c", (7, 0)))
    description = {"updatedFields": {}, "removedFields": ["gone"], "truncatedArrays": []}
    update = event("update", 1, fullDocument={"_id": 1}, updateDescription=description)
    [(_, _, value, _, _)] = making.encode([update]).messages(0, 1)
    assert json.loads(value or b"") == {"_id": 1, **gone}


def test_json_converter_adds_schema_to_transformed_document(tmp_path: Path) -> None:
    converter = {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}
    config = load(tmp_path, {**option("add.fields", "op"), **converter})
    making = encoder(config, Deployment("rs0", "c", (7, 0)))
    batch = making.encode([event("insert", 1, fullDocument={"_id": "x"})])
    [(_, key, value, _, _)] = batch.messages(0, 1)
    found = json.loads(value or b"")
    assert key == b'{"id":1}'
    assert found["payload"] == {"_id": "x", "__op": "c"}
    names = [(each["field"], each["type"]) for each in found["schema"]["fields"]]
    assert names == [("_id", "string"), ("__op", "string")]


def test_first_matching_transform_applies(tmp_path: Path) -> None:
    both = {
        **UNWRAP,
        **PREDICATE,
        "transforms": "unwrap, others",
        "transforms.unwrap.predicate": "p",
        "transforms.others.type": TYPE,
        "transforms.others.predicate": "p",
        "transforms.others.negate": "true",
    }
    config = load(tmp_path, both)
    assert config.transform_of("shop", "cust") == 0
    assert config.transform_of("shop", "orders") == 1
    alone = {name: value for name, value in both.items() if "others" not in name}
    config = load(tmp_path, {**alone, "transforms": "unwrap"})
    assert config.transform_of("shop", "orders") is None


def test_expression_without_linear_time_is_a_warning(tmp_path: Path) -> None:
    files: list[tuple[str, Settings]] = [
        ("predicates.p.pattern", {**UNWRAP, **PREDICATE, "transforms.unwrap.predicate": "p"}),
        ("transforms.outbox.route.topic.regex", ROUTER),
        (
            "topic.regex",
            given("topic.naming.strategy=DefaultRegexTopicNamingStrategy topic.replacement=x"),
        ),
        ("collection.exclude.list", {}),
        ("database.include.list", {}),
        ("snapshot.include.collection.list", {}),
    ]
    for name, settings in files:
        warnings = load(tmp_path, {**settings, name: "(?!a)shop[.](?<routedByValue>.*)"}).warnings
        (warning,) = (each for each in warnings if "unbounded" in each)
        assert warning.startswith(f"`{name}`")
        assert "`(?!a)shop[.](?<routedByValue>.*)`, which may take unbounded time: look-" in warning
    literal = given("filters.match.mode=literal collection.exclude.list=shop.(?!a)")
    assert not any("unbounded" in each for each in load(tmp_path, literal).warnings)


def test_connector_file_routes_outbox_events(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        {
            **routed("route.topic.replacement", "to.${routedByValue}"),
            f"transforms.outbox.{PLACEMENT}": "_id:partition,n:header:m",
            "transforms.outbox.collection.field.event.timestamp": "at",
            "transforms.outbox.collection.field.event.type": "type",
        },
    )
    assert ["has no effect" in warning for warning in config.warnings] == [True]
    making = encoder(config, Deployment("rs0", "c", (7, 0)))
    document = {
        "_id": 3,
        "aggregatetype": "order",
        "aggregateid": "a",
        "payload": "x",
        "n": 1.5,
        "at": Int64(1000),
    }
    batch = making.encode([event("insert", 3, fullDocument=document), event("delete", 3)])
    assert batch.skipped == {"delete": 1}
    [(topic, value, key, partition, _, _, time, headers)] = batch.produce_arguments(
        0, 9, lambda _: 8, print
    )
    assert (topic, key, value, partition, time) == ("to.order", b'"a"', b'"x"', 3, 1000)
    assert headers[4:] == [("id", b"3"), ("m", b"1.5")]
    # The topic lacks this partition, so the key selects the partition.
    [(_, _, _, partition, *_)] = batch.produce_arguments(0, 9, lambda _: 2, print)
    assert partition == batch.messages(0, 1)[0][4] % 2


@pytest.mark.parametrize(
    ("settings", "messages"),
    [
        ({}, 0),
        (routed("collection.field.additional.missing", "ignore"), 1),
        (routed("collection.fields.additional.error.on.missing", "false"), 1),
        (routed("table.fields.additional.error.on.missing", "false"), 1),
    ],
)
def test_missing_additional_field_is_ignored_by_any_of_its_options(
    tmp_path: Path, settings: Settings, messages: int
) -> None:
    config = load(tmp_path, {**routed(PLACEMENT, "n:header"), **settings})
    making = encoder(config, Deployment("rs0", "c", (7, 0)))
    document = {"_id": 3, "aggregatetype": "order", "aggregateid": "a", "payload": "x"}
    batch = making.encode([event("insert", 3, fullDocument=document)])
    assert (len(batch), len(batch.failures)) == (messages, 1 - messages)


@pytest.mark.parametrize(
    ("settings", "payload", "value"),
    [
        ({"value.converter": STRING}, '{"n": 1}', b'{"n": 1}'),
        ({"value.converter": "string"}, "", b""),
        ({"value.converter": BYTES}, b"\xff", b"\xff"),
        ({"value.converter": BINARY}, b"\xff", b"\xff"),
        ({"value.converter": BINARY}, "x", b'"x"'),
        (
            {
                "value.converter": BINARY,
                f"value.converter.{DELEGATE}": "org.apache.kafka.connect.json.JsonConverter",
            },
            "x",
            b'{"schema":{"type":"string","optional":true},"payload":"x"}',
        ),
        (
            {
                "value.converter": BINARY,
                f"value.converter.{DELEGATE}": "org.apache.kafka.connect.json.JsonConverter",
                f"value.converter.{DELEGATE}.schemas.enable": "false",
            },
            "x",
            b'"x"',
        ),
    ],
)
def test_outbox_converter_selects_payload_format(
    tmp_path: Path, settings: Settings, payload: object, value: bytes
) -> None:
    config = load(tmp_path, {**ROUTER, **settings, "key.converter": STRING})
    making = encoder(config, Deployment("rs0", "c", (7, 0)))
    document = {"_id": 1, "aggregatetype": "order", "aggregateid": "k", "payload": payload}
    batch = making.encode([event("insert", 1, fullDocument=document)])
    assert batch.messages(0, 1)[0][:3] == ("outbox.event.order", b"k", value)


def test_transformed_documents_may_be_avro(tmp_path: Path) -> None:
    config = load(tmp_path, {**UNWRAP, **AVRO})
    making = encoder(config, Deployment("rs0", "c", (7, 0)))
    batch = making.encode([event("insert", 1, fullDocument={"_id": 1})])
    assert [each.record for each in batch.unregistered] == ["t.shop.cust"]


@pytest.mark.parametrize(
    ("options", "mode"),
    [
        ({"drop.tombstones": "false"}, 1),
        ({"delete.handling.mode": "none"}, 1),
        ({"delete.handling.mode": "rewrite"}, 1),
        ({"delete.handling.mode": "rewrite", "drop.tombstones": "false"}, 2),
        ({"delete.handling.mode": "drop"}, 0),
        ({"delete.handling.mode": "drop", "delete.tombstone.handling.mode": "tombstone"}, 1),
        ({"delete.tombstone.handling.mode": "delete-to-tombstone"}, 1),
        ({"delete.tombstone.handling.mode": "rewrite-with-tombstone"}, 2),
    ],
)
def test_delete_handling_accepts_old_and_current_options(
    tmp_path: Path, options: dict[str, str], mode: int
) -> None:
    named = {f"transforms.unwrap.{name}": value for name, value in options.items()}
    config = load(tmp_path, {**UNWRAP, **named})
    making = encoder(config, Deployment("rs0", "c", (7, 0)))
    assert len(making.encode([event("delete", 1)])) == mode
    is_old = named.keys() != {"transforms.unwrap.delete.tombstone.handling.mode"}
    assert any("from a release before 3" in each for each in config.warnings) == is_old


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"transforms": "unwrap"}, "`transforms.unwrap.type` must be set"),
        ({"transforms.unwrap.type": TYPE}, "`transforms` does not list `unwrap`"),
        (
            {"transforms": "r", "transforms.r.type": "org.apache.kafka.RegexRouter"},
            "Use `topic.naming.strategy=DefaultRegexTopicNamingStrategy`",
        ),
        ({"transforms": "r", "transforms.r.type": "com.example.Smt"}, "Use `event.transform`"),
        (
            option("type", TYPE.replace("ExtractNewDocumentState", "MongoToRelationalMapper")),
            "typed",
        ),
        (option("bson.timestamp.handling.mode", "struct"), "`event.layout=mongodb`"),
        (option("removed.fields", "drop"), "must be null or omit, not `drop`"),
        (option("array.encoding", "list"), "must be array or document, not `list`"),
        (option("flatten.struct", "yes"), "must be `true` or `false`, not `yes`"),
        (option("add.fields", "op,color"), "`color` is not a member of the envelope"),
        (option("add.headers", "updateDescription"), "but headers are text"),
        (option("operation.header", "true"), "Use `add.headers=op`"),
        (option("add.source.fields", "db"), "Use `add.fields`"),
        (option("colour", "red"), "is not a known option"),
        (option("delete.tombstone.handling.mode", "keep"), "not `keep`"),
        (option("predicate", "p"), "is `p`, which `predicates` does not list"),
        (option("negate", "true"), "requires `predicate`"),
        (
            {**option("predicate", "p"), **PREDICATE, "predicates.p.type": "com.example.P"},
            f"must be `{MATCHES}`",
        ),
        (
            {**option("predicate", "p"), **PREDICATE, "predicates.p.pattern": "("},
            "must be a regular expression: '('",
        ),
        ({"predicates.p.type": MATCHES}, "`predicates` does not list `p`"),
        (routed("collection.field.event.key", None), "messages need a key"),
        (routed(PLACEMENT, "a"), "which is not `field:placement"),
        (routed(PLACEMENT, "a:b"), "must be header, envelope or"),
        (routed("collection.op.invalid.behavior", "stop"), "warn, error or fatal, not `stop`"),
        (routed("route.topic.regex", "("), "and `route.topic.replacement` cannot be used"),
        (routed("table.field.event.key", "a"), "is not a known option"),
        ({**UNWRAP, "event.layout": "mongodb"}, "requires `event.layout=debezium-3`"),
        ({**option("add.fields", "op:o-p"), **AVRO}, "has `o-p`; Avro field names contain only"),
        ({**option("add.fields.prefix", "1"), **AVRO}, "has `1`; Avro field names contain only"),
        ({**option("flatten.struct.delimiter", "."), **AVRO}, "has `.`; Avro field names"),
        ({**UNWRAP, "value.converter": STRING}, "which only supports an outbox"),
        ({"key.converter": "bytes"}, "is `bytes`, which only supports an outbox"),
        (
            {**routed(PLACEMENT, "a:envelope"), "value.converter": STRING},
            "`value.converter` writes only the payload",
        ),
        (
            {**ROUTER, "value.converter": BYTES, "value.converter.schemas.enable": "false"},
            "is not a setting of ByteArrayConverter. Remove it",
        ),
        (
            {**ROUTER, "value.converter": BINARY, "value.converter.schemas.enable": "false"},
            "is not a setting of BinaryDataConverter. Remove it",
        ),
        (
            {**ROUTER, "value.converter": BINARY, f"value.converter.{DELEGATE}": BYTES},
            "must be `org.apache.kafka.connect.json.JsonConverter`, not",
        ),
        (
            {**ROUTER, "value.converter": BINARY, f"value.converter.{DELEGATE}.colour": "red"},
            "is not a known setting of the JSON converter",
        ),
    ],
)
def test_transform_error_contains_property(tmp_path: Path, settings: Settings, part: str) -> None:
    found = problems(tmp_path, settings)
    assert any(part in problem for problem in found), found
