"""Properties files written for Debezium's connector. The manual's example runs unchanged: a second
file sets only local addresses and directories."""

import base64
import io
import json
import struct
from pathlib import Path
from typing import Any

import fastavro
import pytest

from agent.config.loader import AgentConfig, load_config
from sidecar.errors import ConfigError
from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.agents.agent_thread import AgentThread
from tests.support.agents.minimal_configuration import of_lines
from tests.support.agents.running_agent import is_drained
from tests.support.sinks.fake_registry import FakeRegistry

FILES = Path(__file__).parent / "files"
# As in the manual of early 2021, with Avro.
MANUAL_EXAMPLE = """
connector.name=test_connector
commit.log.relocation.dir=/Users/test_user/debezium-connector-cassandra/test_dir/relocation/
http.port=8000

cassandra.config={yaml}
cassandra.hosts=127.0.0.1
cassandra.port=9042
kafka.producer.bootstrap.servers=127.0.0.1:9092
kafka.producer.retries=3
kafka.producer.retry.backoff.ms=1000
kafka.topic.prefix=test_prefix
key.converter=io.confluent.connect.avro.AvroConverter
key.converter.schema.registry.url: http://localhost:8081
value.converter=io.confluent.connect.avro.AvroConverter
value.converter.schema.registry.url: http://localhost:8081
offset.backing.store.dir=/Users/test_user/debezium-connector-cassandra/test_dir/
snapshot.consistency=ONE
snapshot.mode=ALWAYS
latest.commit.log.only=true
"""
YAML = """
cluster_name: 'Orders'
cdc_enabled: true
cdc_raw_directory: /var/lib/cassandra/cdc_raw
commitlog_directory: /var/lib/cassandra/commitlog
"""


@pytest.fixture
def yaml(tmp_path: Path) -> Path:
    path = tmp_path / "cassandra.yaml"
    path.write_text(YAML)
    return path


def load(name: str, yaml: Path) -> AgentConfig:
    driver_file = yaml.with_name("application.conf")
    driver_file.write_text((FILES / "application.conf").read_text())
    text = (FILES / name).read_text().replace("@CASSANDRA_YAML@", str(yaml))
    text = text.replace("@APPLICATION_CONF@", str(driver_file))
    path = yaml.with_name(name)
    path.write_text(text)
    return load_config([path])


def test_properties_file_of_early_debezium_is_accepted(yaml: Path) -> None:
    config = load("manual-era.properties", yaml)
    properties = config.properties
    assert properties.topic_prefix == "orders_prod"
    assert config.cdc_raw_directory == Path("/var/lib/cassandra/cdc_raw")
    assert (config.cluster_name, config.hosts, config.port) == ("Orders", ("127.0.0.1",), 9042)
    assert (properties.cassandra_username, config.transfer_name) == ("debezium", "delete")
    assert properties.kafka_producer["bootstrap.servers"] == "127.0.0.1:9092"
    warned = "\n".join(config.warnings)
    for name in ("connector.name", "max.queue.size", "max.batch.size"):
        assert f"`{name}`" in warned
    assert "snapshot" not in warned
    assert (properties.snapshot_mode, properties.snapshot_consistency) == ("always", "ONE")


def test_properties_file_of_current_debezium_is_accepted(yaml: Path) -> None:
    config = load("standalone-3.properties", yaml)
    properties = config.properties
    assert properties.topic_prefix == "fulfillment"
    assert (properties.node_id, config.cluster_name) == ("cassandra-0", "fulfillment")
    assert properties.offset_flush_interval_ms == 1000
    assert "`commit.log.real.time.processing.enabled`" in "\n".join(config.warnings)
    assert (config.hosts, config.port) == (("10.0.0.7",), 9142)
    assert (properties.cassandra_username, properties.snapshot_mode) == ("debezium", "never")


def test_debezium_manual_example_is_accepted_unchanged(yaml: Path) -> None:
    path = yaml.with_name("cdc.properties")
    path.write_text(MANUAL_EXAMPLE.format(yaml=yaml))
    config = load_config([path])
    properties = config.properties
    warned = [warning.split("`")[1] for warning in config.warnings]
    assert warned == ["connector.name", "latest.commit.log.only", "connector.name"]
    assert (properties.snapshot_mode, properties.snapshot_consistency) == ("always", "ONE")
    assert properties.kafka_producer["retry.backoff.ms"] == "1000"
    assert properties.topic_prefix == "test_prefix"
    assert [properties.encoding(side) for side in ("key", "value")] == ["avro", "avro"]
    assert properties.names == "avro"
    for registry in properties.registries().values():
        assert registry.urls == ("http://localhost:8081",)
        assert registry.auto_register


@pytest.mark.parametrize(
    "line",
    [
        "commit.log.transfer.class=com.example.MyTransfer",
        "sourceinfo.struct.maker=com.example.SourceMaker",
        "transforms=unwrap",
        "topic.delimiter=_",
        "topic.naming.strategy=com.example.Strategy",
        "value.converter=com.blueapron.connect.protobuf.ProtobufConverter",
    ],
)
def test_unsupported_property_is_rejected_by_name(tmp_path: Path, line: str) -> None:
    with pytest.raises(ConfigError) as raised:
        of_lines(tmp_path, line)
    name = line.split("=")[0]
    assert len(raised.value.problems) == 1
    assert name in raised.value.problems[0]


@pytest.mark.parametrize("name", ["field.exclude.list", "column.exclude.list", "field.blacklist"])
def test_every_name_of_the_column_exclude_list_works(tmp_path: Path, name: str) -> None:
    properties = of_lines(tmp_path, f"{name}=ks.t.c, ks.t.D").properties
    assert properties.excluded_columns == (("ks", "t", "c"), ("ks", "t", "D"))
    with pytest.raises(ConfigError, match=r"each must be `keyspace\.table\.column`"):
        of_lines(tmp_path, f"{name}=t.c")


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ("", "none"),
        ("sanitize.field.names=true", "avro"),
        ("field.name.adjustment.mode=AVRO_UNICODE", "avro_unicode"),
        ("key.converter=avro\nkey.converter.schema.registry.url=http://h:1", "avro"),
        (
            "key.converter=Avro\nkey.converter.schema.registry.url=http://h:1\n"
            "sanitize.field.names=false",
            "none",
        ),
    ],
)
def test_avro_converter_adjusts_field_names(tmp_path: Path, lines: str, names: str) -> None:
    assert of_lines(tmp_path, lines).properties.names == names


JSON = "key.converter=org.apache.kafka.connect.json.JsonConverter"
STRING = "key.converter=org.apache.kafka.connect.storage.StringConverter"


@pytest.mark.parametrize(
    ("lines", "written", "decimals"),
    [
        ("", "json", "base64"),
        ("key.converter=JSON", "json", "base64"),
        ("key.converter=json\nkey.converter.schemas.enable=true", "json_with_schema", "base64"),
        ("key.converter.schemas.enable=TRUE", "json_with_schema", "base64"),
        (JSON, "json_with_schema", "base64"),
        (f"{JSON}\nkey.converter.schemas.enable=false", "json", "base64"),
        (f"{JSON}\nkey.converter.decimal.format=numeric", "json_with_schema", "numeric"),
        ("key.converter.decimal.format=NUMERIC", "json", "numeric"),
        (STRING, "string", "base64"),
        ("key.converter=String\nkey.converter.converter.encoding=utf-8", "string", "base64"),
    ],
)
def test_converters_are_selected_by_name_or_class(
    tmp_path: Path, lines: str, written: str, decimals: str
) -> None:
    config = of_lines(tmp_path, lines)
    assert config.properties.written("key") == written
    assert config.properties.decimals("key") == decimals
    assert config.properties.written("value") == "json"
    assert not config.warnings


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (f"{JSON}\nkey.converter.schemas.enable=maybe", "must be `true` or `false`"),
        (f"{JSON}\nkey.converter.decimal.format=TEXT", "must be BASE64 or NUMERIC"),
        (f"{JSON}\nkey.converter.replace.null.with.default=0", "must be `true` or `false`"),
        (f"{JSON}\nkey.converter.schema.registry.url=http://h", "not a known setting of the JSON"),
        (f"{STRING}\nkey.converter.schemas.enable=false", "is not a setting of StringConverter"),
        (f"{STRING}\nkey.converter.converter.encoding=latin1", "must be UTF-8"),
        (
            "key.converter=xml",
            "`json`, `avro`, `protobuf`, `string`, or the classes JsonConverter, Avro",
        ),
    ],
)
def test_invalid_converter_setting_is_one_error(tmp_path: Path, lines: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as raised:
        of_lines(tmp_path, lines)
    (problem,) = raised.value.problems
    assert "`key.converter" in problem
    assert sentence in problem


def test_handling_modes_are_read(tmp_path: Path) -> None:
    modes = "decimal.handling.mode=precise\nvarint.handling.mode=STRING\n"
    properties = of_lines(tmp_path, f"{modes}duration.handling.mode=precise").properties
    assert properties.decimal_handling_mode == "precise"
    assert properties.varint_handling_mode == "string"
    assert properties.duration_handling_mode == "precise"


def test_converter_settings_without_effect_are_reported(tmp_path: Path) -> None:
    registry = "value.converter=avro\nvalue.converter.schema.registry.url=http://h:1\n"
    (warning,) = of_lines(tmp_path, f"{registry}value.converter.schemas.enable=true").warnings
    assert "`value.converter.schemas.enable` has no effect" in warning
    nulls = "value.converter.replace.null.with.default"
    (warning,) = of_lines(tmp_path, f"{nulls}=false").warnings
    assert f"`{nulls}` has no effect" in warning


@pytest.mark.parametrize(
    "line",
    [
        *("snapshot.mode=NEVER", "tombstones.on.delete=false", "field.exclude.list="),
        *("decimal.handling.mode=DOUBLE", "topic.delimiter=."),
        "topic.naming.strategy=io.debezium.schema.SchemaTopicNamingStrategy",
        *("sanitize.field.names=false", "value.converter.schemas.enable=false"),
    ],
)
def test_default_values_cause_no_warning(tmp_path: Path, line: str) -> None:
    assert of_lines(tmp_path, line).warnings == ()


def decoded(text: str, registry: FakeRegistry) -> Any:
    """Message in Confluent's format, decoded by the registry's schema of its id."""
    message = base64.b64decode(text)
    number = struct.unpack(">xI", message[:5])[0]
    schema = fastavro.parse_schema(
        json.loads(registry.answer("GET", schema_path(number), b"")[1]["schema"])
    )
    return fastavro.schemaless_reader(io.BytesIO(message[5:]), schema, None)


def schema_path(number: int) -> str:
    return f"/schemas/ids/{number}"


def test_debezium_manual_example_delivers_events(agent_dir: AgentDir) -> None:
    for number in (1, 2):
        write_segment(agent_dir.cdc_raw, number, [[payload(number, b"v%d" % number)]])
    yaml = agent_dir.folder / "cassandra.yaml"
    yaml.write_text(
        f"cluster_name: 'Orders'\ncdc_enabled: true\ncdc_raw_directory: {agent_dir.cdc_raw}\n"
        f"commitlog_directory: {agent_dir.folder}\n"
    )
    example = agent_dir.folder / "manual.properties"
    example.write_text(MANUAL_EXAMPLE.format(yaml=yaml))
    with FakeRegistry() as registry:
        place = agent_dir.folder / "place.properties"
        settings = {
            "commit.log.relocation.dir": agent_dir.relocation,
            "offset.backing.store.dir": agent_dir.offsets,
            "sink": "file",
            "file.path": agent_dir.events,
            "schema.file": agent_dir.schema,
            "key.converter.schema.registry.url": registry.url,
            "value.converter.schema.registry.url": registry.url,
        }
        place.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        files = ["--config", str(example), "--config", str(place)]
        with AgentThread(files, agent_dir.folder / "agent.log", preferred_port=0) as process:
            process.wait_until("the end of cdc_raw", lambda: is_drained(agent_dir))
            assert process.stop() == 0
        lines = [json.loads(line) for line in agent_dir.events.read_text().splitlines()]
        assert [line["topic"] for line in lines] == ["test_prefix.ks.t"] * 2
        assert set(registry.subjects) == {"test_prefix.ks.t-key", "test_prefix.ks.t-value"}
        values = [decoded(line["value"], registry) for line in lines]
    assert [value["after"]["v"]["value"] for value in values] == ["v1", "v2"]
    assert {value["source"]["cluster"] for value in values} == {"Orders"}
    log = (agent_dir.folder / "agent.log").read_text()
    for name in ("connector.name", "latest.commit.log.only"):
        assert f"`{name}` ({example}:" in log
