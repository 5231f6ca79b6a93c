"""The agent's own rules about its configuration."""

from pathlib import Path

import pytest

from agent.config.document import configuration_document
from agent.config.loader import AgentConfig, directory_problems, load_config
from sidecar.errors import ConfigError

REPOSITORY = Path(__file__).resolve().parents[4]
MINIMUM = {
    "topic.prefix": "t",
    "sink": "stdout",
    "cdc.raw.directory": "/raw",
    "commit.log.relocation.dir": "/relocation",
    "offset.backing.store.dir": "/offsets",
}


def load(tmp_path: Path, **changes: str | None) -> AgentConfig:
    """`topic__prefix` stands for `topic.prefix`; None leaves a property out."""
    settings = {**MINIMUM, **{name.replace("__", "."): value for name, value in changes.items()}}
    path = tmp_path / "cdc.properties"
    path.write_text("".join(f"{k}={v}\n" for k, v in settings.items() if v is not None))
    return load_config([path])


def problems(tmp_path: Path, **changes: str | None) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, **changes)
    return raised.value.problems


def test_the_manual_is_made_from_the_model() -> None:
    written = (REPOSITORY / "docs" / "reference" / "configuration.md").read_text()
    assert written == configuration_document(), "run `make docs`"


def test_the_minimum_is_enough(tmp_path: Path) -> None:
    config = load(tmp_path)
    assert config.cdc_raw_directory == Path("/raw")
    assert (config.hosts, config.port) == (("localhost",), 9042)
    assert config.cluster_name is None
    assert config.warnings == ()


@pytest.mark.parametrize(
    "name", ["topic.prefix", "commit.log.relocation.dir", "offset.backing.store.dir"]
)
def test_missing_required_property_is_named(tmp_path: Path, name: str) -> None:
    (problem,) = problems(tmp_path, **{name.replace(".", "__"): None})
    assert f"`{name}` must be set" in problem


def test_an_unknown_name_brings_the_nearest_known_one(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, cassandra__usernam="x")
    assert "`cassandra.usernam`" in problem
    assert "`cassandra.username`" in problem
    assert "cdc.properties:6" in problem


def test_every_mistake_is_named_at_once(tmp_path: Path) -> None:
    found = problems(tmp_path, http__port="eighty", event__cells="perhaps", sinkk="kafka")
    assert len(found) == 3


def test_something_must_say_where_cdc_raw_is(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, cdc__raw__directory=None)
    assert "`cassandra.config` or `cdc.raw.directory`" in problem


def test_kafka_needs_a_broker(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, sink="kafka")
    assert "kafka.producer.bootstrap.servers" in problem


def test_a_user_needs_a_password(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, cassandra__username="u")
    assert "cassandra.password" in problem


def test_lists_of_tables_are_regular_expressions(tmp_path: Path) -> None:
    config = load(tmp_path, table__include__list=r"shop\\..*, audit\\.log")
    assert config.properties.table_include_list == (r"shop\..*", r"audit\.log")
    (problem,) = problems(tmp_path, table__exclude__list="shop.(")
    assert "`table.exclude.list`" in problem
    assert "`shop.(`" in problem


@pytest.mark.parametrize(
    ("transfer", "enabled", "name"),
    [
        ("io.debezium.connector.cassandra.BlackHoleCommitLogTransfer", "true", "delete"),
        ("io.debezium.connector.cassandra.BlackHoleCommitLogTransfer", "false", "archive"),
        ("Local", "true", "archive"),
        ("io.debezium.connector.cassandra.GCSCommitLogTransfer", "true", "gcs"),
        ("GCS", "true", "gcs"),
        ("GCS", "false", "archive"),
        ("delete", "true", "delete"),
        ("archive.sftp:Transfer", "true", "archive.sftp:Transfer"),
        ("archive.sftp:Transfer", "false", "archive"),
    ],
)
def test_finished_segments_are_kept_when_either_property_says_so(
    tmp_path: Path, transfer: str, enabled: str, name: str
) -> None:
    config = load(
        tmp_path,
        commit__log__transfer__class=transfer,
        remote__commit__log__relocation__dir="gcs://bucket/prefix",
        commit__log__post__processing__enabled=enabled,
    )
    assert config.transfer_name == name


def test_a_remote_store_has_a_place(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, commit__log__transfer__class="GCS")
    assert "`remote.commit.log.relocation.dir` must be set" in problem
    (problem,) = problems(tmp_path, commit__log__transfer__class="s3")
    assert "`remote.commit.log.relocation.dir` must be set (s3://bucket/prefix)" in problem
    (problem,) = problems(tmp_path, remote__commit__log__relocation__dir="ftp://bucket")
    assert "gs://bucket/prefix or s3://bucket/prefix" in problem
    (problem,) = problems(
        tmp_path,
        commit__log__transfer__class="s3",
        remote__commit__log__relocation__dir="gs://bucket/prefix",
    )
    assert "must be s3://bucket/prefix" in problem
    for name, scheme in (("GCS", "gs"), ("S3", "s3")):
        (warning,) = load(
            tmp_path, remote__commit__log__relocation__dir=f"{scheme}://bucket"
        ).warnings
        assert f"has no effect without `commit.log.transfer.class={name}`" in warning


@pytest.mark.parametrize(
    ("text", "letters"),
    [(None, ""), ("none", ""), ("t", ""), ("c", "i"), ("i", "i"), ("C, U,t", "iu"), ("d,r", "dr")],
)
def test_skipped_operations_have_debeziums_letters(
    tmp_path: Path, text: str | None, letters: str
) -> None:
    config = load(tmp_path, skipped__operations=text)
    assert config.properties.skipped_letters == frozenset(letters)
    warned = [warning for warning in config.warnings if "skipped.operations" in warning]
    assert len(warned) == (1 if letters else 0)
    assert all(("keep deleted rows" in each) == bool(set(letters) & {"d", "r"}) for each in warned)


def test_the_protobuf_converter_has_its_registry(tmp_path: Path) -> None:
    url = "http://registry:8081"
    named = {
        "key__converter": "protobuf",
        "value__converter": "io.confluent.connect.protobuf.ProtobufConverter",
        "key__converter__schema__registry__url": url,
        "value__converter__schema__registry__url": url,
    }
    properties = load(tmp_path, **named).properties
    assert (properties.written("key"), properties.written("value")) == ("protobuf", "protobuf")
    assert [each.schema_type for each in properties.registries().values()] == ["PROTOBUF"] * 2
    (problem,) = problems(
        tmp_path, value__converter="com.blueapron.connect.protobuf.ProtobufConverter"
    )
    assert "`protobuf`" in problem
    assert "ProtobufConverter" in problem


def test_source_of_debezium_1_needs_its_layout(tmp_path: Path) -> None:
    maker = "io.debezium.connector.cassandra.LegacyV1CassandraSourceInfoStructMaker"
    (problem,) = problems(tmp_path, sourceinfo__struct__maker=maker)
    assert "Set `event.layout=debezium-1.x` too." in problem
    named = {"sourceinfo__struct__maker": maker, "event__layout": "debezium-1.x"}
    assert load(tmp_path, **named).properties.event_layout == "debezium-1.x"


def test_skipping_everything_is_a_mistake(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, skipped__operations="c,u,d,r", snapshot__mode="never")
    assert "would publish nothing" in problem
    load(tmp_path, skipped__operations="c,u,d,r", snapshot__mode="initial")
    (problem,) = problems(tmp_path, skipped__operations="c,x")
    assert "`r` (deletions of ranges)" in problem
    assert "`x` is not one of them" in problem
    (problem,) = problems(tmp_path, skipped__operations="c,none")
    assert "`none` alone" in problem


def test_a_truncation_is_no_range(tmp_path: Path) -> None:
    (warning,) = load(tmp_path, skipped__operations="t", event__op__style="envelope").warnings
    assert "skipped by `r`" in warning


@pytest.mark.parametrize(
    "endpoint", ["minio:9000", "ftp://minio", "https://user:secret@minio", "http://minio:0x"]
)
def test_endpoint_of_s3_is_a_url_without_credentials(tmp_path: Path, endpoint: str) -> None:
    (problem,) = problems(tmp_path, storage__s3__endpoint=endpoint)
    assert "must be a URL such as https://minio.example.com:9000" in problem


def test_key_of_s3_needs_its_encryption(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, storage__s3__kms__key__id="key-1")
    assert "needs `storage.s3.server.side.encryption=aws:kms`" in problem


def test_overrides_stand_over_the_files(tmp_path: Path) -> None:
    first, second = tmp_path / "a.properties", tmp_path / "b.properties"
    first.write_text("".join(f"{k}={v}\n" for k, v in MINIMUM.items()) + "http.port=1\n")
    second.write_text("http.port=2\n")
    assert load_config([first, second]).properties.http_port == 2
    assert load_config([first, second], ["http.port=3"]).properties.http_port == 3


def test_yaml_of_the_node_fills_missing_properties(tmp_path: Path) -> None:
    yaml = tmp_path / "cassandra.yaml"
    yaml.write_text(
        "cluster_name: shop\ncdc_raw_directory: /data/cdc_raw\nrpc_address: 10.0.0.7\n"
        "native_transport_port: 9142\n"
    )
    config = load(tmp_path, cdc__raw__directory=None, cassandra__config=str(yaml))
    assert config.cdc_raw_directory == Path("/data/cdc_raw")
    assert (config.hosts, config.port) == (("10.0.0.7",), 9142)
    assert config.cluster_name == "shop"
    config = load(
        tmp_path,
        cassandra__config=str(yaml),
        cassandra__hosts="localhost",
        cassandra__port="9042",
        cluster__name="other",
    )
    assert config.cdc_raw_directory == Path("/raw")
    assert (config.hosts, config.port) == (("localhost",), 9042)
    assert config.cluster_name == "other"


def test_directories_that_are_missing_are_named(tmp_path: Path) -> None:
    assert len(directory_problems(load(tmp_path))) == 3
    for name in ("raw", "relocation", "offsets"):
        (tmp_path / name).mkdir()
    good = {
        "cdc__raw__directory": str(tmp_path / "raw"),
        "commit__log__relocation__dir": str(tmp_path / "relocation"),
        "offset__backing__store__dir": str(tmp_path / "offsets"),
    }
    assert directory_problems(load(tmp_path, **good)) == []
    too_long = good | {"offset__backing__store__dir": "x" * 300}
    (problem,) = directory_problems(load(tmp_path, **too_long))
    assert problem.startswith("offset.backing.store.dir: ")
    assert problem.endswith("File name too long.")
    (tmp_path / "offsets").rmdir()
    (tmp_path / "offsets").touch()
    (problem,) = directory_problems(load(tmp_path, **good))
    assert problem == f"offset.backing.store.dir: {tmp_path / 'offsets'} is not a directory."


def test_the_accord_journal_is_beside_cdc_raw_unless_it_is_set(tmp_path: Path) -> None:
    assert load(tmp_path).accord_journal_directory == Path("/accord_journal")
    config = load(tmp_path, accord__journal__directory="/journal")
    assert config.accord_journal_directory == Path("/journal")
    yaml = tmp_path / "cassandra.yaml"
    yaml.write_text("accord:\n  journal_directory: /of/the/node\n")
    config = load(tmp_path, cassandra__config=str(yaml))
    assert config.accord_journal_directory == Path("/of/the/node")


def test_transactions_need_the_node(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, accord__journal__enabled="true", schema__file="/schema.cql")
    assert "`accord.journal.enabled` needs the node" in problem
