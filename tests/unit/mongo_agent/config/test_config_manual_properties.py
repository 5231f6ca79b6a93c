"""Each property of the manuals behaves as docs/evidence/mongodb-parity.md states.

A `done` property is accepted silently; an `accepted` one is accepted with a warning that it has no
effect. The values are the manuals' defaults and further values from the manuals.
"""

import re
from pathlib import Path

import pytest

from mongo_agent.config.model import MongoProperties
from sidecar.errors import ConfigError
from sidecar.properties.model import declarations
from tests.support.mongodb.properties import Settings, given, load

PARITY = Path(__file__).resolve().parents[4] / "docs" / "evidence" / "mongodb-parity.md"
_ROW = re.compile(r"^\| (M-\d{3}) \| (.+?) \| (\w+) \|", re.MULTILINE)
_FIRST, _LAST = "M-150", "M-206"

LOGIN: Settings = given("mongodb.user=u mongodb.password=p")
URI: Settings = {"mongodb.hosts": None, "mongodb.connection.string": "mongodb://h/?replicaSet=rs0"}
FILTER = "snapshot.collection.filter.overrides"
SAMPLES: dict[str, tuple[Settings, ...]] = {
    "M-150": ({"name": "inventory-connector"},),
    "M-151": ({"connector.class": "io.debezium.connector.mongodb.MongoDbConnector"},),
    "M-152": ({"mongodb.hosts": "rs0/a:27017,b:27017"},),
    "M-153": (URI,),
    "M-154": ({"topic.prefix": "x"}, {"topic.prefix": None, "mongodb.name": "x"}),
    "M-155": (LOGIN,),
    "M-156": (LOGIN,),
    "M-157": ({**LOGIN, "mongodb.authsource": "admin"},),
    "M-158": ({"mongodb.ssl.enabled": "false"}, {"mongodb.ssl.enabled": "true"}),
    "M-159": ({"mongodb.ssl.invalid.hostname.allowed": "false"},),
    "M-160": ({"database.include.list": "shop,crm.*"},),
    "M-161": ({"database.exclude.list": "shop,crm.*"},),
    "M-162": ({"collection.include.list": "shop[.]orders,crm[.].*"},),
    "M-163": ({"collection.exclude.list": "shop[.]orders,crm[.].*"},),
    "M-164": ({"snapshot.mode": "initial"}, {"snapshot.mode": "never"}),
    "M-165": tuple(
        {"capture.mode": mode}
        for mode in (
            "change_streams",
            "change_streams_update_full",
            "change_streams_update_full_with_pre_image",
            "change_streams_with_pre_image",
        )
    ),
    "M-166": ({"snapshot.include.collection.list": "shop[.]orders"},),
    "M-167": ({"field.exclude.list": "shop.orders.a, *.*.b.c"},),
    "M-168": ({"field.renames": "shop.orders.a:z, *.*.b.c:y"},),
    "M-169": ({"tasks.max": "1"},),
    "M-170": (
        {"snapshot.max.threads": "1"},
        {"snapshot.max.threads": "4"},
        {"initial.sync.max.threads": "4"},
    ),
    "M-171": ({"tombstones.on.delete": "true"}, {"tombstones.on.delete": "false"}),
    "M-172": ({"snapshot.delay.ms": "1000"},),
    "M-173": ({"snapshot.fetch.size": "0"}, {"snapshot.fetch.size": "50"}),
    "M-174": tuple({"schema.name.adjustment.mode": each} for each in ("none", "avro")),
    "M-175": ({"max.batch.size": "2048"},),
    "M-176": ({"max.queue.size": "8192"},),
    "M-177": ({"max.queue.size.in.bytes": "0"}, {"max.queue.size.in.bytes": "5000"}),
    "M-178": ({"poll.interval.ms": "1000"}, {"poll.interval.ms": "500"}),
    "M-179": ({"connect.backoff.initial.delay.ms": "1000"},),
    "M-180": ({"connect.backoff.max.delay.ms": "120000"}, {"connect.backoff.max.delay.ms": "1000"}),
    "M-181": ({"connect.max.attempts": "16"},),
    "M-182": (
        {"mongodb.members.auto.discover": "true"},
        {"mongodb.members.auto.discover": "false"},
    ),
    "M-183": (
        {"source.struct.version": "v2"},
        given("source.struct.version=v1 event.layout=debezium-1.x"),
    ),
    "M-184": ({"heartbeat.interval.ms": "0"}, {"heartbeat.interval.ms": "5000"}),
    "M-185": ({"heartbeat.topics.prefix": "__debezium-heartbeat"},),
    "M-186": ({"sanitize.field.names": "false"}, {"sanitize.field.names": "true"}),
    "M-187": tuple({"skipped.operations": each} for each in ("c", "u,d", "t", "none")),
    "M-188": ({FILTER: "customers.orders", f"{FILTER}.customers.orders": '{"year": 2024}'},),
    "M-189": ({"provide.transaction.metadata": "false"}, {"provide.transaction.metadata": "true"}),
    "M-190": ({"transaction.topic": "${database.server.name}.transaction"},),
    "M-191": ({"retriable.restart.connector.wait.ms": "10000"},),
    "M-192": ({"mongodb.poll.interval.ms": "30000"},),
    "M-193": ({"mongodb.connect.timeout.ms": "10000"},),
    "M-194": ({"mongodb.heartbeat.frequency.ms": "10000"},),
    "M-195": ({"mongodb.socket.timeout.ms": "0"},),
    "M-196": ({"mongodb.server.selection.timeout.ms": "30000"},),
    "M-197": ({"cursor.max.await.time.ms": "0"}, {"cursor.max.await.time.ms": "250"}),
    "M-198": ({"signal.data.collection": "inventory.debezium_signals"},),
    "M-199": ({"incremental.snapshot.chunk.size": "1024"},),
    "M-200": ({"topic.naming.strategy": "io.debezium.schema.DefaultTopicNamingStrategy"},),
    "M-201": ({"topic.delimiter": "."}, {"topic.delimiter": "-"}),
    "M-202": ({"topic.cache.size": "10000"},),
    "M-203": ({"topic.heartbeat.prefix": "__debezium-heartbeat"},),
    "M-204": ({"topic.transaction": "transaction"},),
}
# Settings of a worker, and the manual's mistake; other tests cover them.
ELSEWHERE = {"M-205", "M-206"}


def states() -> dict[str, str]:
    rows = {number: state for number, _, state in _ROW.findall(PARITY.read_text())}
    return {number: state for number, state in rows.items() if _FIRST <= number <= _LAST}


def test_every_property_row_is_tested() -> None:
    assert states().keys() == SAMPLES.keys() | ELSEWHERE


@pytest.mark.parametrize(
    ("number", "settings"),
    [(number, settings) for number, samples in SAMPLES.items() for settings in samples],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_manual_properties_are_accepted_as_listed(
    tmp_path: Path, number: str, settings: Settings
) -> None:
    warnings = load(tmp_path, settings).warnings
    without_effect = [each for each in warnings if "has no effect here" in each]
    if states()[number] == "accepted":
        (sentence,) = warnings
        assert without_effect == [sentence]
        assert f"`{next(iter(settings))}` (" in sentence
    else:
        assert states()[number] == "done"
        assert warnings == ()


def test_misspelt_property_is_rejected_with_nearest_name(tmp_path: Path) -> None:
    """This includes properties that are accepted, ignored or rejected when spelt correctly."""
    for _, _, declaration in declarations(MongoProperties):
        if declaration.is_prefix:
            continue
        wrong = f"{declaration.name}x"
        try:
            load(tmp_path, {wrong: "1"})
        except ConfigError as error:
            assert f"`{wrong}`" in str(error)
            assert "is not a known property; the nearest one is" in str(error)
        else:
            raise AssertionError(f"{wrong} is taken")
