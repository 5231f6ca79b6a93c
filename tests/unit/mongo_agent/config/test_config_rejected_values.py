"""Every configuration fault is one sentence with the property and the remedy."""

from pathlib import Path

import pytest

from tests.support.mongodb.properties import Settings, given, load, problems

START_TOKEN = "8265C0FFEE000000032B0229296E04"
FILTERS = "snapshot.collection.filter.overrides"


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"mongodb.usr": "x"}, "the nearest one is `mongodb.user`"),
        ({"bootstrap.servers": "a:1"}, "not supported: use `kafka.producer.bootstrap.servers`"),
        ({"topic.prefix": None}, "`topic.prefix` must be set"),
        ({"topic.prefix": "a b"}, "may only contain letters"),
        ({"mongodb.hosts": None}, "`mongodb.hosts` or `mongodb.connection.string` must be set"),
        ({"mongodb.connection.string": "mongodb://h"}, "are mutually exclusive"),
        ({"mongodb.hosts": "rs0/a:x"}, "must be `host:port,host:port`"),
        ({"mongodb.hosts": "rs0/a,,b"}, "must be `host:port,host:port`"),
        ({"mongodb.hosts": "rs0/a;rs1/b"}, "lists several replica sets"),
        (
            given("mongodb.hosts=a mongodb.members.auto.discover=false"),
            "requires the name of the replica set",
        ),
        (
            given("mongodb.hosts=rs0/a,b mongodb.members.auto.discover=false"),
            "requires exactly one address",
        ),
        ({"mongodb.user": "u"}, "is set without `mongodb.password`"),
        ({"mongodb.password": "p"}, "is set without `mongodb.user`"),
        ({"mongodb.heartbeat.frequency.ms": "100"}, "must be at least 500"),
        (given("mongodb.ssl.enabled=true mongodb.ssl.keystore=/x.p12"), "/x.p12 cannot be read"),
        ({"connect.backoff.initial.delay.ms": "200000"}, "`connect.backoff.max.delay.ms`"),
        ({"mongodb.deployment": "sharded"}, "must be 'auto', 'replica_set', 'mongos' or 'shard'"),
        ({"collection.include.list": "a[.](b"}, "'a[.](b' is not a regular expression"),
        ({"snapshot.include.collection.list": "a.*+*"}, "is not a regular expression"),
        (
            given("database.include.list=a database.exclude.list=b"),
            "`database.exclude.list` are mutually exclusive",
        ),
        (
            given("collection.include.list=a.b collection.exclude.list=b.a"),
            "`collection.exclude.list` are mutually exclusive",
        ),
        ({"capture.mode": "oplog"}, "'change_streams_with_pre_image'"),
        ({"capture.scope": "database"}, "`capture.target` must be set"),
        ({"capture.target": "shop"}, "requires `capture.scope=database`"),
        ({"capture.scope": "database", "capture.target": "a.b"}, "must name databases"),
        ({"capture.scope": "collection", "capture.target": "a"}, "must name collections"),
        ({"capture.scope": "database", "capture.target": "admin"}, "a system database"),
        (
            given("capture.scope=collection capture.target=a.b collection.exclude.list=a.b"),
            "the include and exclude lists filter out",
        ),
        ({"capture.start.op.time": "1700000000"}, "must be a cluster time"),
        ({"capture.start.op.time": "soon"}, "must be a cluster time"),
        ({"capture.start.token": "8265"}, "does not begin with a cluster time"),
        ({"capture.start.token": "015daf9c5b00000001"}, "does not begin with a cluster time"),
        ({"capture.start.token": '{"_data": 1}'}, "does not begin with a cluster time"),
        ({"capture.start.token": "[1]"}, "or base64 of its BSON"),
        ({"capture.start.token": "{"}, "or base64 of its BSON"),
        ({"capture.start.token": "QUJDREVG"}, "base64, but not BSON"),
        (
            {"capture.start.token": START_TOKEN, "capture.start.op.time": "1700000000:1"},
            "are mutually exclusive",
        ),
        (
            {
                "capture.start.token": START_TOKEN,
                "capture.scope": "database",
                "capture.target": "a,b",
            },
            "belongs to one stream, but `capture.target` opens 2",
        ),
        ({"mongodb.connection.mode": "shards"}, "must be 'replica_set' or 'sharded'"),
        (given("mongodb.connection.mode=sharded mongodb.deployment=mongos"), "mutually exclusive"),
        ({"task.id": "1"}, "is 1, but it must be less than `tasks.max=1`"),
        ({"task.id": "1", "tasks.max": "2"}, "the agent would deliver the changes of all shards"),
        (
            {
                "mongodb.connection.mode": "replica_set",
                "tasks.max": "2",
                "capture.start.token": START_TOKEN,
            },
            "each of the `tasks.max=2` tasks has its own",
        ),
        ({"skipped.operations": "c,x"}, "`x` is not one of them"),
        ({"skipped.operations": "c,none"}, "`none` alone"),
        ({"skipped.operations": "c,u,d", "snapshot.mode": "never"}, "would publish nothing"),
        ({"event.layout": "avro"}, "must be 'debezium-3'"),
        ({"field.exclude.list": "shop.orders"}, "`shop.orders` is not of the form"),
        ({"field.exclude.list": "shop.orders.a.*"}, "has a `*` in a field name"),
        ({"field.renames": "shop.orders.a"}, "`shop.orders.a` has no `:`"),
        ({"field.renames": "a.b.c:d, a.b.c:d.e"}, "`a.b.c:d.e` needs one name without dots"),
        ({"snapshot.mode": "sometimes"}, "must be 'initial', 'no_data'"),
        ({FILTERS: "a.b"}, f"`{FILTERS}.a.b` must be set"),
        ({f"{FILTERS}.a.b": "{}"}, f"no effect until `{FILTERS}` names a.b"),
        ({FILTERS: "a.b", f"{FILTERS}.a.b": "{year: 1}"}, "invalid JSON"),
        ({FILTERS: "a.b", f"{FILTERS}.a.b": "[1]"}, "not a document"),
        ({FILTERS: "a.b", f"{FILTERS}.a.b": '{"_id": {"$oid": "1"}}'}, "invalid extended JSON"),
        (
            given("mongodb.socket.timeout.ms=500 cursor.max.await.time.ms=500"),
            "must be larger than `cursor.max.await.time.ms` (500)",
        ),
        ({"mongodb.socket.timeout.ms": "1000"}, "`cursor.max.await.time.ms` (1000)"),
        ({"max.queue.size": "10", "max.batch.size": "10"}, "must be larger than `max.batch.size`"),
        ({"max.queue.size": "10", "inflight.max.events": "10"}, "set the same limit"),
        ({"position.store": "kafka"}, "requires `sink=kafka`"),
        ({"position.topic": "p"}, "requires `position.store=kafka`"),
        ({"standby.enabled": "true"}, "requires `position.store=kafka`"),
        (
            given("snapshot.mode=when_needed history.lost.policy=fail"),
            "contradicts `snapshot.mode=when_needed`",
        ),
        ({"event.processing.failure.handling.mode": "stop"}, "must be 'quarantine' or 'fail'"),
        ({"signal.enabled.channels": "jmx"}, "`jmx` is not one of them"),
        ({"signal.enabled.channels": "file"}, "`signal.file` must be set"),
        ({"signal.enabled.channels": "kafka"}, "`signal.kafka.bootstrap.servers` must be set"),
        ({"signal.data.collection": "signals"}, "must be of the form `database.collection`"),
        ({"cursor.pipeline": "[{"}, "must be a list of stages: invalid JSON"),
        ({"cursor.pipeline": '{"$match": {}}'}, "not a JSON array of objects"),
        ({"cursor.pipeline": '[{"$match": {"_id": {"$oid": "1"}}}]'}, "invalid extended JSON"),
        ({"cursor.pipeline": '[{"$group": {"_id": 1}}]'}, "found $group"),
        ({"cursor.pipeline": '[{"$match": {}, "$set": {}}]'}, "each object must hold one stage"),
        ({"cursor.pipeline.order": "last"}, "must be 'internal_first'"),
        ({"guardrail.collections.max": "-1"}, "must be at least 0"),
        ({"guardrail.collections.limit.action": "stop"}, "must be 'warn' or 'fail'"),
        ({"source.struct.version": "v1"}, "requires `event.layout=debezium-1.x`"),
        ({"source.struct.version": "v3"}, "must be 'v1' or 'v2'"),
        ({"topic.creation.groups": "a"}, "`topic.creation.default.*`, for all topics"),
        ({"snapshot.mode": "custom"}, "must be 'initial', 'no_data'"),
        ({"snapshot.mode.custom.name": "x"}, "the five values of `snapshot.mode`"),
        ({"database.hostname": "h"}, "it applies to relational databases"),
        ({"database.history.kafka.topic": "h"}, "it applies to relational databases"),
        ({"value.converter": "io.confluent.connect.avro.AvroConverter"}, "schema.registry.url"),
        ({"value.converter.schemas.enable": "yes"}, "must be `true` or `false`, not `yes`"),
        ({"value.converter.compression": "x"}, "is not a known setting of the JSON converter"),
        ({"value.converter.decimal.format": "hex"}, "must be BASE64 or NUMERIC"),
        ({"key.converter": "org.example.Own"}, "under their full names, not `org.example.Own`"),
        ({"schema.name.adjustment.mode": "some"}, "must be 'none', 'avro' or 'avro_unicode'"),
        ({"sanitize.field.names": "some"}, "must be true or false"),
        (
            given(
                "event.layout=mongodb value.converter=avro value.converter.schema.registry.url=http://h:1"
                " value.converter.value.subject.name.strategy=RecordNameStrategy"
            ),
            "values are text without a record name",
        ),
    ],
)
def test_config_error_contains_property_and_remedy(
    tmp_path: Path, settings: Settings, part: str
) -> None:
    (problem,) = problems(tmp_path, settings)
    assert part in problem
    assert problem.endswith(".")
    assert any(f"`{name}" in problem for name in settings)


def test_certificate_files_are_validated(tmp_path: Path) -> None:
    store = tmp_path / "keystore.p12"
    store.write_bytes(b"\x30\x82")
    settings = {
        "mongodb.ssl.enabled": "true",
        "mongodb.ssl.ca.path": "/none/ca.pem",
        "mongodb.ssl.certificate.path": str(store),
    }
    missing, wrong = problems(tmp_path, settings)
    assert "/none/ca.pem cannot be read" in missing
    assert "is not a PEM file" in wrong


def test_conflicting_driver_options_are_rejected(tmp_path: Path) -> None:
    settings = {
        "mongodb.hosts": None,
        "mongodb.connection.string": "mongodb://h/?directConnection=true&loadBalanced=true",
    }
    (problem,) = problems(tmp_path, settings)
    assert "loadBalanced" in problem


def test_all_contradictions_are_reported_together(tmp_path: Path) -> None:
    text = f"mongodb.user=u capture.scope=database position.store=kafka {FILTERS}=a.b"
    found = problems(tmp_path, given(text))
    assert len(found) == 4
    assert all("mongo.properties:" in problem for problem in found)


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        (
            {"mongodb.ssl.invalid.hostname.allowed": "true"},
            "accepts any server with a trusted certificate",
        ),
        ({"mongodb.deployment": "shard"}, "how to snapshot them through a mongos"),
        (
            given("mongodb.deployment=shard snapshot.mode=no_data"),
            "events of different shards are ordered only by time.",
        ),
        ({"producer.override.partitioner.class": "x"}, "the key determines the partition"),
        ({"kafka.producer.partitioner.class": "x"}, "the partition key decides the partition"),
        ({"errors.tolerance": "all"}, "`event.processing.failure.handling.mode` controls"),
        ({"exactly.once.support": "required"}, "`position.store=kafka` writes"),
        ({"plugin.path": "/x"}, "the agent does not use Kafka Connect"),
        ({"collection.include.list": "orders"}, "matches no collection"),
        (
            given("capture.mode=change_streams capture.mode.full.update.type=post_image"),
            "has no effect: updates have no `after`",
        ),
        (
            {"database.include.list": "x", FILTERS: "a.b", f"{FILTERS}.a.b": "{}"},
            "names a.b, which the agent does not capture",
        ),
        (
            given("capture.scope=database capture.target=shop signal.data.collection=ops.signals"),
            "no `capture.target` contains it",
        ),
        ({"cursor.pipeline.order": "user_first"}, "no effect without `cursor.pipeline`"),
        (
            {"signal.data.collection": "ops.signals", "cursor.pipeline": '[{"$match": {"a": 1}}]'},
            "only if `cursor.pipeline` passes their inserts",
        ),
        ({"signal.file": "/x"}, "no effect without `file` in `signal.enabled.channels`"),
        ({"notification.enabled.channels": "log"}, "`notification.enabled.channels` has no effect"),
        ({"incremental.snapshot.watermarking.strategy": "insert_delete"}, "never writes"),
    ],
)
def test_ambiguous_setting_is_a_warning(tmp_path: Path, settings: Settings, part: str) -> None:
    (warning,) = load(tmp_path, settings).warnings
    assert part in warning
