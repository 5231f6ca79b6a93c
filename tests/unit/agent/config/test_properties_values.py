"""Every property of both agents rejects invalid values in one sentence: the property, the value
and the allowed values, never a secret."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from agent.config.model import AgentProperties
from mongo_agent.config.model import MongoProperties
from sidecar.errors import ConfigError
from sidecar.properties.loading import load
from sidecar.properties.model import Declaration, Properties, declarations
from sidecar.properties.secrets import is_secret_name
from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.agent_main import agent
from tests.support.agents.bad_values import bad_values, is_choice, kinds
from tests.support.agents.minimal_configuration import MINIMUM, MONGO_MINIMUM

ALLOWED = re.compile(
    r"must (be|have|not)|refers to|each (must|is)|cannot be|are known|: it must|may"
)
BASES: dict[type[Properties], dict[str, str]] = {
    AgentProperties: MINIMUM,
    MongoProperties: MONGO_MINIMUM,
}


EMPTY_MEANS_NOT_SET = {"key.converter", "value.converter"}
CASES = [
    pytest.param(model, declaration, value, id=f"{model.__name__}-{declaration.name}-{what}")
    for model in BASES
    for _, info, declaration in declarations(model)
    if not declaration.is_prefix
    for what, value in bad_values(info)
    if not (what == "empty" and declaration.name in EMPTY_MEANS_NOT_SET)
]


def problems(model: type[Properties], folder: Path, *lines: str) -> tuple[str, ...]:
    changed = {line.partition("=")[0] for line in lines}
    base = [f"{k}={v}" for k, v in BASES[model].items() if k not in changed]
    path = folder / "cdc.properties"
    path.write_text("\n".join([*lines, *base]) + "\n")
    with pytest.raises(ConfigError) as raised:
        load(model, [path], environment={})
    return tuple(problem.replace(str(path), "FILE") for problem in raised.value.problems)


@pytest.mark.parametrize(("model", "declaration", "value"), CASES)
def test_message_names_property_value_and_allowed_values(
    model: type[Properties], declaration: Declaration, value: str, tmp_path: Path
) -> None:
    (problem,) = problems(model, tmp_path, f"{declaration.name}={value}")
    assert problem.startswith(f"`{declaration.name}` (FILE:1) ")
    assert problem.endswith(".")
    assert len(re.findall(r"\.(?:\s|$)", problem)) == 1, "one sentence"
    assert ALLOWED.search(problem), problem
    if value and "u0000" not in value:
        assert f"`{value}`" in problem
    else:
        assert "empty" in problem or "NUL" in problem


def texts() -> Iterator[tuple[type[Properties], FieldInfo, Declaration]]:
    """Properties without generated bad values: free texts, lists, secrets."""
    for model in BASES:
        for _, info, declaration in declarations(model):
            if not declaration.is_prefix and not list(bad_values(info)):
                yield model, info, declaration


BAD_TEXTS = [
    ("topic.prefix", "", "must not be empty"),
    ("snapshot.scan.interval.ms", "0", "must be more than 0"),
    ("http.host", "", "must not be empty"),
    ("node.id", "", "must not be empty"),
    ("cluster.name", "", "must not be empty"),
    ("cassandra.username", "", "must not be empty"),
    ("cassandra.password", "", "must not be empty"),
    ("event.transform", "", "must be module:function"),
    ("event.transform", "no function", "must be module:function"),
    ("table.include.list", "shop.(", "`shop.(`"),
    ("table.exclude.list", "*", "`*`"),
    ("field.exclude.list", "shop.orders", "must be `keyspace.table.column`"),
    ("custom.metric.tags", "env", "`name=value`"),
    ("custom.metric.tags", "server=a", "must not contain `server`"),
    ("remote.commit.log.relocation.dir", "ftp://bucket", "gs://bucket/prefix"),
    ("topic.naming.strategy", "com.example.Strategy", "SchemaTopicNamingStrategy"),
    ("sourceinfo.struct.maker", "com.example.Maker", "CassandraSourceInfoStructMaker"),
]


@pytest.mark.parametrize(("name", "value", "allowed"), BAD_TEXTS)
def test_meaningless_property_texts_are_reported(
    name: str, value: str, allowed: str, tmp_path: Path
) -> None:
    (problem,) = problems(AgentProperties, tmp_path, f"{name}={value}")
    assert problem.startswith(f"`{name}` (FILE:1) ")
    assert allowed in problem
    assert f"`{value}`" in problem or not value


def test_every_secret_property_has_a_secret_type() -> None:
    for model in BASES:
        for _, info, declaration in declarations(model):
            if declaration.is_prefix or kinds(info) & {bool, int, Path} or is_choice(info):
                continue
            if is_secret_name(declaration.name):
                assert SecretStr in kinds(info), declaration.name


KAFKA = "kafka.producer."


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("acks", "1", "must be `all`"),
        ("linger.ms", "soon", "must be a whole number"),
        ("batch.size", "", "must be a whole number"),
        ("security.protocol", "TLS", "PLAINTEXT, SSL, SASL_PLAINTEXT and SASL_SSL"),
        ("retries", "99999999999", "must be at most 2147483647"),
        ("max.request.size", "5", "1000..1000000000"),
        ("compression.type", "rar", "compression.codec"),
        ("request.timeout.ms", "never", "request.timeout.ms"),
        ("enable.idempotence", "perhaps", "enable.idempotence"),
        ("bootstrap.server", "h:1", "`kafka.producer.bootstrap.servers`"),
        ("interceptor.classes", "a.B", "Java classes are not supported"),
        ("ssl.truststore.location", "/none/trust.jks", "/none/trust.jks cannot be read"),
    ],
)
def test_config_check_reports_invalid_producer_setting(
    agent_dir: AgentDir, name: str, value: str, allowed: str
) -> None:
    """`config check` also reports settings that only the Kafka client can validate."""
    settings = {"sink": "kafka", f"{KAFKA}bootstrap.servers": "127.0.0.1:1", KAFKA + name: value}
    if name.startswith("ssl."):
        settings[f"{KAFKA}security.protocol"] = "SSL"
    done = agent("config", "check", "--config", agent_dir.configuration(settings))
    assert done.exit_code == 2
    (line,) = done.errors.splitlines()
    assert f"`{KAFKA}{name}`" in line
    assert allowed in line
    names_alone = ("bootstrap.server", "interceptor.classes")
    assert value in line or name in names_alone


def test_start_reports_invalid_producer_setting(agent_dir: AgentDir) -> None:
    producer = {f"{KAFKA}bootstrap.servers": "127.0.0.1:1", f"{KAFKA}max.request.size": "5"}
    done = agent("--config", agent_dir.configuration({"sink": "kafka", **producer}))
    assert done.exit_code == 2
    assert "`kafka.producer.max.request.size` cannot be `5`" in done.errors
    assert "Traceback" not in done.errors
