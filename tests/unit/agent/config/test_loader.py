"""Configuration rules of the agent."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from agent.config.document import configuration_document
from agent.config.loader import AgentConfig, directory_problems, load_config
from sidecar.errors import ConfigError
from tests.support.agents.minimal_configuration import MINIMUM

REPOSITORY = Path(__file__).resolve().parents[4]
S3 = {"commit.log.transfer.class": "s3"}
MAKER = "io.debezium.connector.cassandra.LegacyV1CassandraSourceInfoStructMaker"
BLACK_HOLE = "io.debezium.connector.cassandra.BlackHoleCommitLogTransfer"
REMOTE = "remote.commit.log.relocation.dir"
OFFSETS = "offset.backing.store.dir"
SKIPPED = "skipped.operations"


def load(tmp_path: Path, changes: Mapping[str, str | None] | None = None) -> AgentConfig:
    """Load the minimum with `changes`; None omits a property."""
    settings = {**MINIMUM, **(changes or {})}
    path = tmp_path / "cdc.properties"
    path.write_text("".join(f"{k}={v}\n" for k, v in settings.items() if v is not None))
    return load_config([path])


def problems(tmp_path: Path, changes: Mapping[str, str | None]) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, changes)
    return raised.value.problems


def test_configuration_page_matches_the_model() -> None:
    written = (REPOSITORY / "docs" / "reference" / "configuration.md").read_text()
    assert written == configuration_document(), "run `make docs`"


def test_minimal_configuration_loads(tmp_path: Path) -> None:
    config = load(tmp_path)
    assert config.cdc_raw_directory == Path("/raw")
    assert (config.hosts, config.port) == (("localhost",), 9042)
    assert config.cluster_name is None
    assert config.warnings == ()


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        *(({name: None}, [f"`{name}` must be set"]) for name in list(MINIMUM)[3:]),
        ({"topic.prefix": None}, ["`topic.prefix` must be set"]),
        ({"cassandra.usernam": "x"}, ["`cassandra.usernam`", "`cassandra.username`", "ties:6"]),
        (
            {"event.oversized": "claim-check"},
            ["`event.oversized`", "is not supported", "docs/how-to/dead-letters.md"],
        ),
        ({"claim.check.store": "s3://b/p"}, ["`claim.check.store`", "is not a known property"]),
        ({"cdc.raw.directory": None}, ["`cassandra.config` or `cdc.raw.directory`"]),
        ({"sink": "kafka"}, ["kafka.producer.bootstrap.servers"]),
        ({"cassandra.username": "u"}, ["cassandra.password"]),
        ({"table.exclude.list": "shop.("}, ["`table.exclude.list`", "`shop.(`"]),
        ({"commit.log.transfer.class": "GCS"}, [f"`{REMOTE}` must be set"]),
        (S3, [f"`{REMOTE}` must be set (s3://bucket/prefix)"]),
        ({REMOTE: "ftp://bucket"}, ["gs://bucket/prefix or s3://bucket/prefix"]),
        ({**S3, REMOTE: "gs://bucket/prefix"}, ["must be s3://bucket/prefix"]),
        (
            {"value.converter": "com.blueapron.connect.protobuf.ProtobufConverter"},
            [
                "needs a Java class",
                "`protobuf` (`io.confluent.connect.protobuf.ProtobufConverter`)",
            ],
        ),
        (
            {"value.converter": "io.confluent.connect.json.JsonSchemaConverter"},
            ["is not supported; use `avro` (`io.confluent.connect.avro.AvroConverter`)"],
        ),
        ({"sourceinfo.struct.maker": MAKER}, ["Set `event.layout=debezium-1.x` too."]),
        ({SKIPPED: "c,u,d,r", "snapshot.mode": "never"}, ["would publish nothing"]),
        ({SKIPPED: "c,x"}, ["`r` (deletions of ranges)", "`x` is not one of them"]),
        ({SKIPPED: "c,none"}, ["`none` alone"]),
        *(
            ({"storage.s3.endpoint": url}, ["must be a URL such as https://minio.example.com:9000"])
            for url in ("minio:9000", "ftp://minio", "https://u:secret@minio", "http://minio:0x")
        ),
        ({"storage.s3.kms.key.id": "key-1"}, ["needs `storage.s3.server.side.encryption=aws:kms`"]),
        (
            {"accord.journal.enabled": "true", "schema.file": "/schema.cql"},
            ["`accord.journal.enabled`", "needs the column ids", ":6)"],
        ),
    ],
)
def test_config_error_contains_property_and_reason(
    tmp_path: Path, changes: Mapping[str, str | None], parts: list[str]
) -> None:
    (problem,) = problems(tmp_path, changes)
    for part in parts:
        assert part in problem


def test_table_lists_are_regular_expressions(tmp_path: Path) -> None:
    config = load(tmp_path, {"table.include.list": r"shop\\..*, audit\\.log"})
    assert config.properties.table_include_list == (r"shop\..*", r"audit\.log")


@pytest.mark.parametrize(
    ("transfer", "enabled", "name"),
    [
        (BLACK_HOLE, "true", "delete"),
        (BLACK_HOLE, "false", "archive"),
        ("Local", "true", "archive"),
        ("io.debezium.connector.cassandra.GCSCommitLogTransfer", "true", "gcs"),
        ("GCS", "true", "gcs"),
        ("GCS", "false", "archive"),
        ("delete", "true", "delete"),
        ("archive.sftp:Transfer", "true", "archive.sftp:Transfer"),
        ("archive.sftp:Transfer", "false", "archive"),
    ],
)
def test_transfer_follows_class_and_post_processing(
    tmp_path: Path, transfer: str, enabled: str, name: str
) -> None:
    changes = {
        "commit.log.transfer.class": transfer,
        REMOTE: "gcs://bucket/prefix",
        "commit.log.post.processing.enabled": enabled,
    }
    assert load(tmp_path, changes).transfer_name == name


@pytest.mark.parametrize(("name", "scheme"), [("GCS", "gs"), ("S3", "s3")])
def test_remote_directory_without_transfer_class_is_warned_about(
    tmp_path: Path, name: str, scheme: str
) -> None:
    (warning,) = load(tmp_path, {REMOTE: f"{scheme}://bucket"}).warnings
    assert f"has no effect without `commit.log.transfer.class={name}`" in warning


@pytest.mark.parametrize(
    ("text", "letters"),
    [(None, ""), ("none", ""), ("t", ""), ("c", "i"), ("i", "i"), ("C, U,t", "iu"), ("d,r", "dr")],
)
def test_skipped_operations_accept_debezium_letters(
    tmp_path: Path, text: str | None, letters: str
) -> None:
    config = load(tmp_path, {SKIPPED: text})
    assert config.properties.skipped_letters == frozenset(letters)
    warned = [warning for warning in config.warnings if SKIPPED in warning]
    assert len(warned) == (1 if letters else 0)
    assert all(("keep deleted rows" in each) == bool(set(letters) & {"d", "r"}) for each in warned)


def test_skipping_all_changes_is_valid_with_snapshots(tmp_path: Path) -> None:
    load(tmp_path, {SKIPPED: "c,u,d,r", "snapshot.mode": "initial"})


def test_skipping_truncations_warns_that_ranges_need_r(tmp_path: Path) -> None:
    (warning,) = load(tmp_path, {SKIPPED: "t", "event.op.style": "envelope"}).warnings
    assert "Use `r` to skip deletions of ranges" in warning


def test_protobuf_converter_uses_its_registry(tmp_path: Path) -> None:
    converters = {"key": "protobuf", "value": "io.confluent.connect.protobuf.ProtobufConverter"}
    changes = {f"{part}.converter": converter for part, converter in converters.items()}
    registry = "converter.schema.registry.url"
    changes |= {f"{part}.{registry}": "http://registry:8081" for part in converters}
    properties = load(tmp_path, changes).properties
    assert (properties.written("key"), properties.written("value")) == ("protobuf", "protobuf")
    assert [each.schema_type for each in properties.registries().values()] == ["PROTOBUF"] * 2


def test_legacy_source_maker_allows_debezium_1_layout(tmp_path: Path) -> None:
    named = {"sourceinfo.struct.maker": MAKER, "event.layout": "debezium-1.x"}
    assert load(tmp_path, named).properties.event_layout == "debezium-1.x"


def test_node_yaml_fills_missing_properties(tmp_path: Path) -> None:
    yaml = tmp_path / "cassandra.yaml"
    yaml.write_text(
        "cluster_name: shop\ncdc_raw_directory: /data/cdc_raw\nrpc_address: 10.0.0.7\n"
        "native_transport_port: 9142\n"
    )
    config = load(tmp_path, {"cdc.raw.directory": None, "cassandra.config": str(yaml)})
    assert config.cdc_raw_directory == Path("/data/cdc_raw")
    assert (config.hosts, config.port, config.cluster_name) == (("10.0.0.7",), 9142, "shop")
    own = {"cassandra.hosts": "localhost", "cassandra.port": "9042", "cluster.name": "other"}
    config = load(tmp_path, {**own, "cassandra.config": str(yaml)})
    assert config.cdc_raw_directory == Path("/raw")
    assert (config.hosts, config.port, config.cluster_name) == (("localhost",), 9042, "other")


def test_unusable_directories_are_reported(tmp_path: Path) -> None:
    assert len(directory_problems(load(tmp_path))) == 3
    names = dict(zip(list(MINIMUM)[2:], ("raw", "relocation", "offsets"), strict=True))
    good: dict[str, str | None] = {}
    for property_name, name in names.items():
        (tmp_path / name).mkdir()
        good[property_name] = str(tmp_path / name)
    assert directory_problems(load(tmp_path, good)) == []
    (problem,) = directory_problems(load(tmp_path, {**good, OFFSETS: "x" * 300}))
    assert problem.startswith(f"{OFFSETS}: ")
    assert problem.endswith("File name too long.")
    (tmp_path / "offsets").rmdir()
    (tmp_path / "offsets").touch()
    (problem,) = directory_problems(load(tmp_path, good))
    assert problem == f"{OFFSETS}: {tmp_path / 'offsets'} is not a directory."


def test_accord_journal_defaults_to_sibling_of_cdc_raw(tmp_path: Path) -> None:
    yaml = tmp_path / "cassandra.yaml"
    yaml.write_text("accord:\n  journal_directory: /of/the/node\n")
    for changes, expected in (
        ({}, "/accord_journal"),
        ({"accord.journal.directory": "/journal"}, "/journal"),
        ({"cassandra.config": str(yaml)}, "/of/the/node"),
    ):
        assert load(tmp_path, changes).accord_journal_directory == Path(expected)
