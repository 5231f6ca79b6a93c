"""Settings derived from the properties of the MongoDB agent."""

import socket
import sys
from pathlib import Path

import pytest
from pymongo import MongoClient

from mongo_agent.capture.namespaces import Scope
from mongo_agent.change_stream.options import StreamOptions
from mongo_agent.config.client import settings_of_set
from mongo_agent.config.document import configuration_document
from mongo_agent.config.loading import load_config
from mongo_agent.config.shard_assignment import config_at_shard
from mongo_agent.documents import ClusterTime, parse_filter
from mongo_agent.server.catalogue import Shard
from mongo_agent.snapshot.settings import SnapshotSettings
from sidecar.properties.loading import LoadedProperties
from sidecar.properties.model import Properties
from sidecar.properties.show import rows
from tests.support.mongodb.properties import load

REPOSITORY = Path(__file__).resolve().parents[4]
# The example registration of the manuals.
MANUAL_EXAMPLE = {
    "name": "inventory-connector",
    "connector.class": "io.debezium.connector.mongodb.MongoDbConnector",
    "topic.prefix": None,
    "mongodb.name": "fullfillment",
    "mongodb.hosts": "rs0/192.168.99.100:27017",
    "collection.include.list": "inventory[.]*",
    "tasks.max": "1",
    "snapshot.mode": "never",
    "max.queue.size": "8192",
    "max.batch.size": "2048",
    "poll.interval.ms": "1000",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "key.converter.schemas.enable": "false",
}


def test_configuration_manual_is_generated_from_model() -> None:
    written = (REPOSITORY / "docs" / "reference" / "mongodb-configuration.md").read_text()
    assert written == configuration_document(), "run `make docs`"


def test_manual_example_loads_without_warnings(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("sesame\n")
    page = (REPOSITORY / "docs" / "how-to" / "mongodb-agent.md").read_text()
    text = page.partition("```properties\n")[2].partition("```")[0]
    path = tmp_path / "mongo.properties"
    path.write_text(text.replace("/run/secrets/mongodb", str(secret)))
    config = load_config([path])
    assert config.warnings == ()
    assert config.namespaces.captures("inventory", "products")
    assert config.client.options["password"] == "sesame"


def test_minimal_configuration_is_sufficient(tmp_path: Path) -> None:
    config = load(tmp_path)
    assert config.warnings == ()
    assert config.scopes == (Scope(),)
    assert config.stream == StreamOptions(
        full_document="updateLookup", batch_size=5000, await_ms=1000
    )
    assert config.operations == ("insert", "update", "replace", "delete")
    pause = config.new_pause()
    pauses_s = [pause.failed() for _ in range(pause.attempts)]
    assert pauses_s == [1, 2, 4, 8, 16, 32, 64, *[120] * 9]
    assert config.properties.capture_start_op_time is None
    assert config.history_lost_policy == "fail"
    assert config.snapshot == SnapshotSettings()


def test_registration_example_of_manual_is_accepted(tmp_path: Path) -> None:
    config = load(tmp_path, MANUAL_EXAMPLE)
    assert config.properties.topic_prefix == "fullfillment"
    assert config.properties.snapshot_mode == "no_data"
    assert config.client.options["replicaSet"] == "rs0"
    assert (config.window_max_events, config.stream.batch_size) == (8192, 2048)
    warned = "\n".join(config.warnings)
    for name in ("name", "connector.class", "poll.interval.ms"):
        assert f"`{name}` (" in warned
    # The example matches no collection, and only this warning reports that.
    assert "`inventory[.]*` matches no collection" in warned
    assert not config.namespaces.captures("inventory", "products")


@pytest.mark.parametrize(("name", "title"), [("snappy", "snappy"), ("zstd", "zstandard")])
def test_compressor_without_package_is_a_warning(
    name: str, title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("snappy", "backports", "compression"):
        monkeypatch.setitem(sys.modules, package, None)
    uri = f"mongodb://a:1/?compressors=zlib,{name}"
    properties = {"mongodb.hosts": None, "mongodb.connection.string": uri}
    (warning,) = load(tmp_path, properties).warnings
    assert f"Wire protocol compression with {title} is not available" in warning


def test_hosts_yield_seeds_and_replica_set_name(tmp_path: Path) -> None:
    hosts = "rs0/a:27018,[::1]:27019"
    login = {"mongodb.user": "u", "mongodb.password": "p", "mongodb.authsource": "users"}
    options = load(tmp_path, {"mongodb.hosts": hosts, **login}).client.options
    client: MongoClient[dict[str, object]] = MongoClient(**options, connect=False)
    with client:
        assert client.topology_description.replica_set_name == "rs0"
    assert options["host"] == ["a:27018", "[::1]:27019"]
    assert (options["username"], options["authSource"]) == ("u", "users")
    assert options["connectTimeoutMS"] == 10_000


def test_connection_string_keeps_options_without_property(tmp_path: Path) -> None:
    uri = "mongodb://u:p@h/?replicaSet=rs0&connectTimeoutMS=1"
    config = load(
        tmp_path,
        {
            "mongodb.hosts": None,
            "mongodb.connection.string": uri,
            "mongodb.socket.timeout.ms": "70000",
        },
    )
    options = config.client.options
    assert options["host"] == uri
    assert options["socketTimeoutMS"] == 70_000
    assert "connectTimeoutMS" not in options
    assert "authSource" not in options
    assert config.client.address == "h"


@pytest.mark.parametrize(
    ("uri", "at_set"),
    [
        ("mongodb://r1,r2:1", "mongodb://a:1,b:2/?"),
        (
            "mongodb://u:p%40@r1/shop?replicaSet=x&w=1&readPreferenceTags=",
            "mongodb://u:p%40@a:1,b:2/shop?w=1&readPreferenceTags=",
        ),
        ("mongodb+srv://u:p@r/?srvMaxHosts=2", "mongodb://u:p@a:1,b:2/?tls=true"),
        ("mongodb+srv://r/?tls=false", "mongodb://a:1,b:2/?tls=false"),
    ],
)
def test_shard_inherits_connection_string_options_of_router(
    tmp_path: Path, uri: str, at_set: str
) -> None:
    config = load(tmp_path, {"mongodb.hosts": None, "mongodb.connection.string": uri})
    found = settings_of_set(config.client, "shard0", ("a:1", "b:2"))
    assert found.options["host"] == at_set
    assert found.options["replicaSet"] == "shard0"
    assert found.address == "a:1,b:2"


def test_shard_replaces_hosts(tmp_path: Path) -> None:
    login = {"mongodb.hosts": "r:1", "mongodb.user": "u", "mongodb.password": "p"}
    found = settings_of_set(load(tmp_path, login).client, "shard0", ("a:1", "b:2"))
    assert found.options["host"] == ["a:1", "b:2"]
    assert (found.options["username"], found.options["replicaSet"]) == ("u", "shard0")


@pytest.mark.parametrize(
    ("wanted", "added", "is_new", "start"),
    [
        (None, None, True, None),
        (None, 5, False, None),
        (None, 5, True, 5),
        (3, 5, False, 5),
        (7, 5, True, 7),
        (7, None, False, 7),
    ],
)
def test_new_shard_starts_at_time_of_addition(
    tmp_path: Path, wanted: int | None, added: int | None, is_new: bool, start: int | None
) -> None:
    time = {} if wanted is None else {"capture.start.op.time": f"{wanted}:0"}
    shard = Shard("s", "s", ("a:1",), None if added is None else ClusterTime(added, 0))
    found = config_at_shard(load(tmp_path, time), shard, is_new=is_new).start_time
    assert found == (None if start is None else ClusterTime(start, 0))


def test_disabled_discovery_connects_directly(tmp_path: Path) -> None:
    options = load(tmp_path, {"mongodb.members.auto.discover": "false"}).client.options
    assert options["directConnection"] is True


def test_config_texts_contain_no_secrets(tmp_path: Path) -> None:
    uri = "mongodb://u:sesame@h/?tls=true"
    config = load(
        tmp_path,
        {
            "mongodb.hosts": None,
            "mongodb.connection.string": uri,
            "mongodb.user": "u",
            "mongodb.password": "open",
            "mongodb.ssl.key.password": "rusty",
        },
    )
    loaded: LoadedProperties[Properties] = LoadedProperties(
        config.properties, config.loaded.settings, ()
    )
    text = f"{config!r} {config} {rows(loaded)}"
    for secret in ("sesame", "'open'", "rusty"):
        assert secret not in text


@pytest.mark.parametrize(
    ("mode", "update_type", "after", "before"),
    [
        ("change_streams", "lookup", "default", "off"),
        ("change_streams_update_full", "lookup", "updateLookup", "off"),
        ("change_streams_update_full", "post_image", "whenAvailable", "off"),
        ("change_streams_with_pre_image", "lookup", "default", "whenAvailable"),
        ("Change_Streams_Update_Full_With_Pre_Image", "lookup", "updateLookup", "whenAvailable"),
    ],
)
def test_capture_mode_selects_server_image_options(
    tmp_path: Path, mode: str, update_type: str, after: str, before: str
) -> None:
    changes = {"capture.mode": mode, "capture.mode.full.update.type": update_type}
    stream = load(tmp_path, changes).stream
    assert (stream.full_document, stream.full_document_before) == (after, before)


def test_scope_yields_stream_per_target(tmp_path: Path) -> None:
    databases = {"capture.scope": "database", "capture.target": "shop, crm,shop"}
    assert load(tmp_path, databases).scopes == (Scope("shop"), Scope("crm"))
    collections = {"capture.scope": "collection", "capture.target": "shop.orders.eu"}
    assert load(tmp_path, collections).scopes == (Scope("shop", "orders.eu"),)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("-1", None),
        ("1700000000:7", ClusterTime(1_700_000_000, 7)),
        (str((1_700_000_000 << 32) + 7), ClusterTime(1_700_000_000, 7)),
    ],
)
def test_start_time_is_parsed_as_cluster_time(
    tmp_path: Path, text: str, time: ClusterTime | None
) -> None:
    config = load(tmp_path, {"capture.start.op.time": text})
    assert config.properties.capture_start_op_time == time


def test_skipped_operations_are_excluded_from_stream(tmp_path: Path) -> None:
    assert load(tmp_path, {"skipped.operations": "u,t"}).operations == ("insert", "delete")
    assert len(load(tmp_path, {"skipped.operations": "none"}).operations) == 4


def test_comma_inside_braces_does_not_end_pattern(tmp_path: Path) -> None:
    config = load(tmp_path, {"collection.include.list": "shop[.]o{1,2}, crm\\\\.a"})
    assert config.properties.collection_include_list == ("shop[.]o{1,2}", "crm\\.a")
    assert config.namespaces.captures("shop", "oo")


def test_snapshot_takes_subset_and_filters(tmp_path: Path) -> None:
    snapshot = load(
        tmp_path,
        {
            "database.include.list": "shop",
            "snapshot.include.collection.list": "shop[.]o.*",
            "snapshot.collection.filter.overrides": "shop.orders",
            "snapshot.collection.filter.overrides.shop.orders": '{"_id": {"$gt": '
            '{"$oid": "596e275826f08b2730779e1f"}}}',
        },
    ).snapshot
    assert snapshot.chosen.captures("shop", "orders")
    assert not snapshot.chosen.captures("shop", "customers")
    found = parse_filter(snapshot.filters["shop.orders"])
    assert str(found["_id"]["$gt"]) == "596e275826f08b2730779e1f"


@pytest.mark.parametrize(
    ("settings", "policy"),
    [
        ({"snapshot.mode": "when_needed"}, "resnapshot"),
        ({"snapshot.mode": "always"}, "resnapshot"),
        ({"snapshot.mode": "always", "history.lost.policy": "skip"}, "skip"),
    ],
)
def test_snapshot_mode_selects_the_history_lost_policy(
    tmp_path: Path, settings: dict[str, str], policy: str
) -> None:
    assert load(tmp_path, settings).history_lost_policy == policy


def test_topic_names_follow_debezium(tmp_path: Path) -> None:
    config = load(tmp_path)
    properties = config.properties
    assert properties.transaction_topic_name == "t.transaction"
    assert properties.heartbeat_topic_name == "__debezium-heartbeat.t"
    topics = (properties.position_topic_name, properties.signal_topic_name)
    assert topics == ("t.position", "t-signal")
    older = {
        "transaction.topic": "${database.server.name}.tx",
        "heartbeat.topics.prefix": "hb",
        "topic.delimiter": "-",
    }
    properties = load(tmp_path, older).properties
    assert properties.transaction_topic_name == "t.tx"
    assert properties.heartbeat_topic_name == "hb-t"


def test_loading_configuration_opens_no_connection(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        load(tmp_path, {"mongodb.hosts": f"127.0.0.1:{listener.getsockname()[1]}"})
        with pytest.raises(BlockingIOError):
            listener.accept()
