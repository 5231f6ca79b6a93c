"""Mistakes of a first day, one case a row: `config check`, `check` and `run` name property, value,
what is allowed and what to do, or accept the value."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.agents.agent_command import agent
from tests.support.agents.agent_directory import AgentDir

BROKER = "kafka.producer.bootstrap.servers"
KAFKA = {"sink": "kafka", BROKER: "127.0.0.1:1"}


@dataclass(frozen=True)
class Mistake:
    """`changes` may have `{agent_dir}` in its values; `prepare` changes what lies in the folder."""

    name: str
    changes: dict[str, str]
    parts: tuple[str, ...]
    """Words of the message."""
    prepare: Callable[[AgentDir], None] = field(default=lambda agent_dir: None)
    is_warning: bool = False


def link_to_cdc_raw(agent_dir: AgentDir) -> None:
    (agent_dir.folder / "link").symlink_to(agent_dir.cdc_raw)


def inside_cdc_raw(agent_dir: AgentDir) -> None:
    (agent_dir.cdc_raw / "inner").mkdir()


def around_cdc_raw(agent_dir: AgentDir) -> None:
    (agent_dir.relocation / "archive").mkdir()


def schema_without_tables(agent_dir: AgentDir) -> None:
    agent_dir.schema.write_text("hello world;")


def empty_schema(agent_dir: AgentDir) -> None:
    agent_dir.schema.write_text("")


MISTAKES = [
    Mistake(
        "offsets in cdc_raw",
        {"offset.backing.store.dir": "{dir}/cdc_raw"},
        ("offset.backing.store.dir", "the same directory as", "Name a directory outside it"),
    ),
    Mistake(
        "relocation in cdc_raw",
        {"commit.log.relocation.dir": "{dir}/cdc_raw"},
        ("commit.log.relocation.dir", "the same directory as"),
    ),
    Mistake(
        "offsets behind a link",
        {"offset.backing.store.dir": "{dir}/link"},
        ("offset.backing.store.dir", "the same directory as"),
        link_to_cdc_raw,
    ),
    Mistake(
        "offsets by dots",
        {"offset.backing.store.dir": "{dir}/offsets/../cdc_raw"},
        ("offset.backing.store.dir", "the same directory as"),
    ),
    Mistake(
        "relocation inside cdc_raw",
        {"commit.log.relocation.dir": "{dir}/cdc_raw/inner"},
        ("commit.log.relocation.dir", "is inside"),
        inside_cdc_raw,
    ),
    Mistake(
        "cdc_raw inside the archive",
        {"cdc.raw.directory": "{dir}/relocation/archive"},
        ("commit.log.relocation.dir", "in its directory `archive`"),
        around_cdc_raw,
    ),
    Mistake(
        "events into cdc_raw",
        {"file.path": "{dir}/cdc_raw/events.ndjson"},
        ("file.path", "is inside"),
    ),
    Mistake("port", {**KAFKA, BROKER: "127.0.0.1:99999"}, (BROKER, "99999", "1 to 65535")),
    Mistake("port zero", {**KAFKA, BROKER: "h:0"}, (BROKER, "`0`", "1 to 65535")),
    Mistake("port name", {**KAFKA, BROKER: "h:kafka"}, (BROKER, "`kafka`", "1 to 65535")),
    Mistake("scheme", {**KAFKA, BROKER: "http://h:9092"}, (BROKER, "`http://`", "host:port")),
    Mistake("empty part", {**KAFKA, BROKER: "a:1,,b:1"}, (BROKER, "empty part", "host:port")),
    Mistake("comma at the end", {**KAFKA, BROKER: "a:1,"}, (BROKER, "empty part")),
    Mistake("no port", {**KAFKA, BROKER: "broker"}, (BROKER, "no port", "`broker:9092`")),
    Mistake("semicolons", {**KAFKA, BROKER: "a:1;b:2"}, (BROKER, "a:1;b")),
    Mistake("IPv6", {**KAFKA, BROKER: "::1:9092"}, (BROKER, "brackets", "[::1]:9092")),
    Mistake("vault", {"node.id": "${vault:x}"}, ("node.id", "${vault:x}", "${env:NAME}", "$${")),
    Mistake("home", {"file.path": "${HOME}/x"}, ("file.path", "${HOME}", "${env:HOME}")),
    Mistake(
        "embedded reference",
        {"node.id": "a${env:NOT_SET_HERE}b"},
        ("node.id", "NOT_SET_HERE", "is not set"),
    ),
    Mistake(
        "comment at the end",
        {"topic.prefix": "foo # my prefix"},
        ("topic.prefix", "letters, digits, `.`, `_` and `-`", "comment"),
    ),
    Mistake(
        "comment elsewhere",
        {"cluster.name": "lab # mine"},
        ("cluster.name", "part of the value `lab # mine`"),
        is_warning=True,
    ),
    Mistake("letters", {"topic.prefix": "für"}, ("topic.prefix", "`ü`", "letters, digits")),
    Mistake("long prefix", {"topic.prefix": "p" * 300}, ("topic.prefix", "300", "249")),
    Mistake(
        "TLS not on",
        {"cassandra.ssl.config.path": "/etc/ssl.properties"},
        ("cassandra.ssl.config.path", "plaintext", "cassandra.ssl.enabled=true"),
    ),
    Mistake(
        "TLS off",
        {"cassandra.ssl.ca.path": "/etc/ca.pem", "cassandra.ssl.enabled": "false"},
        ("cassandra.ssl.ca.path", "no effect", "plaintext"),
        is_warning=True,
    ),
    Mistake(
        "mechanism",
        {**KAFKA, "kafka.producer.sasl.mechanism": "FOO"},
        ("sasl.mechanism", "`FOO`", "SCRAM-SHA-512"),
    ),
    Mistake(
        "login without protocol",
        {**KAFKA, "kafka.producer.sasl.mechanism": "PLAIN"},
        ("sasl.mechanism", "security.protocol", "SASL_SSL"),
    ),
    Mistake(
        "certificates without protocol",
        {**KAFKA, "kafka.producer.ssl.truststore.location": "/t.pem"},
        ("ssl.truststore.location", "plaintext", "Set it to SSL"),
    ),
    Mistake(
        "idempotence",
        {**KAFKA, "kafka.producer.enable.idempotence": "false"},
        ("enable.idempotence=false", "resends events"),
        is_warning=True,
    ),
    Mistake("acks", {**KAFKA, "kafka.producer.acks": "1"}, ("acks", "`1`", "must be `all`")),
    Mistake(
        "topic setting",
        {"topic.creation.enable": "true", "topic.creation.default.cleanup.polcy": "compact"},
        ("cleanup.polcy", "nearest one is `topic.creation.default.cleanup.policy`"),
    ),
    Mistake(
        "topic setting's value",
        {"topic.creation.enable": "true", "topic.creation.default.cleanup.policy": "compac"},
        ("cleanup.policy", "`compac`", "compact, delete"),
    ),
    Mistake(
        "topics are not created",
        {"topic.creation.default.partitions": "3"},
        ("topic.creation.default.partitions", "topic.creation.enable=true"),
        is_warning=True,
    ),
    Mistake(
        "no schema",
        {},
        ("schema.file", "no CREATE TABLE", "DESCRIBE SCHEMA WITH INTERNALS"),
        schema_without_tables,
    ),
    Mistake(
        "empty schema",
        {},
        ("schema.file", "no CREATE TABLE", "DESCRIBE SCHEMA WITH INTERNALS"),
        empty_schema,
    ),
    Mistake(
        "bucket",
        {"commit.log.transfer.class": "GCS", "remote.commit.log.relocation.dir": "gs://b/p"},
        ("remote.commit.log.relocation.dir", "`b` has 1 character", "3 to 63"),
    ),
    Mistake(
        "address",
        {"http.host": "10.255.255.1"},
        ("http.host=10.255.255.1", "not an address of this machine", "0.0.0.0"),
    ),
    Mistake("URL", {"http.host": "http://localhost"}, ("http.host", "without `http://`")),
    Mistake("host and port", {"http.host": "localhost:80"}, ("http.host", "without a port")),
    Mistake(
        "hosts with ports",
        {"cassandra.hosts": "127.0.0.1:9042"},
        ("cassandra.hosts", "without a port", "cassandra.port"),
    ),
    Mistake("time", {"offset.flush.interval.ms": "10 years"}, ("10 years", "10s, 5m or 1h")),
    Mistake("part of a unit", {"inflight.max.bytes": "1.5GiB"}, ("1.5GiB", "64Mi or 64m")),
]


def said(agent_dir: AgentDir, mistake: Mistake, *command: str) -> tuple[int, str]:
    mistake.prepare(agent_dir)
    changes = {
        name: value.replace("{dir}", str(agent_dir.folder))
        for name, value in mistake.changes.items()
    }
    done = agent(*command, "--config", agent_dir.configuration(changes))
    assert "Traceback" not in done.errors
    return done.exit_code, done.output + done.errors


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_config_check_names_value_and_remedy(agent_dir: AgentDir, mistake: Mistake) -> None:
    code, text = said(agent_dir, mistake, "config", "check")
    assert code == (0 if mistake.is_warning else 2), text
    for part in mistake.parts:
        assert part in text


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_check_names_the_same(agent_dir: AgentDir, mistake: Mistake) -> None:
    code, text = said(agent_dir, mistake, "check")
    # 2 where the configuration cannot be used, 1 where a check found the fault. Beside a warning
    # the other findings decide.
    assert mistake.is_warning or code in (1, 2), text
    for part in mistake.parts:
        assert part in text


@pytest.mark.parametrize(
    "mistake", [mistake for mistake in MISTAKES if not mistake.is_warning], ids=lambda m: m.name
)
def test_run_rejects_to_start_with_the_same_message(agent_dir: AgentDir, mistake: Mistake) -> None:
    code, text = said(agent_dir, mistake, "run")
    assert code == 2, text
    for part in mistake.parts:
        assert part in text


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("log.level", "warn", "warning"),
        ("log.level", "WARN", "warning"),
        ("inflight.max.bytes", "16Mi", "16777216"),
        ("inflight.max.bytes", "16MiB", "16777216"),
        ("inflight.max.bytes", "64k", "65536"),
        ("inflight.max.bytes", "1 GB", "1073741824"),
        ("quarantine.max.bytes", "1Ti", "1099511627776"),
        ("offset.flush.interval.ms", "250ms", "250"),
        ("offset.flush.interval.ms", "10s", "10000"),
        ("offset.flush.interval.ms", "10m", "600000"),
        ("offset.flush.interval.ms", "1h", "3600000"),
        ("offset.flush.interval.ms", "1d", "86400000"),
        ("offset.flush.interval.ms", "500", "500"),
        ("http.host", "[::1]", "::1"),
        (BROKER, "[::1]:9092,h:1, SSL://x:2", "[::1]:9092,h:1, SSL://x:2"),
    ],
)
def test_usual_forms_of_values_work(agent_dir: AgentDir, name: str, value: str, shown: str) -> None:
    done = agent("config", "show", "--config", agent_dir.configuration({name: value}))
    assert done.exit_code == 0, done.errors
    assert f"{name}={shown}  #" in done.output


def test_a_reference_inside_a_value_is_resolved_and_an_escape_is_literal(
    agent_dir: AgentDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CDC_TEST_RACK", "r1")
    value = f"{agent_dir.folder}/a${{env:CDC_TEST_RACK}}b-$${{HOME}}"
    path = agent_dir.configuration({"file.path": value})
    assert agent("config", "check", "--config", path).exit_code == 0
    file = agent_dir.folder / "ar1b-${HOME}"
    file.mkdir()
    # A directory is no file: the finding names what the value became.
    assert f"{file} (file.path)" in agent("check", "--config", path).output


def test_an_unknown_reference_in_a_secret_is_rejected_without_its_text(agent_dir: AgentDir) -> None:
    path = agent_dir.configuration(
        {"cassandra.username": "u", "cassandra.password": "open${sesame}door"}
    )
    done = agent("config", "check", "--config", path)
    assert done.exit_code == 2
    assert "`cassandra.password`" in done.errors
    assert "`$${`" in done.errors
    assert "sesame" not in done.errors


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_file_in_another_encoding_is_one_error(agent_dir: AgentDir, encoding: str) -> None:
    path = agent_dir.configuration()
    path.write_bytes(path.read_text().encode(encoding))
    done = agent("config", "check", "--config", path)
    assert done.exit_code == 2
    (line,) = done.errors.splitlines()
    assert "UTF-" in line
    assert "iconv -f" in line


@pytest.mark.parametrize("change", [b"\xef\xbb\xbf", b""])
def test_a_byte_order_mark_and_windows_line_ends_are_no_mistake(
    agent_dir: AgentDir, change: bytes
) -> None:
    path = agent_dir.configuration()
    path.write_bytes(change + path.read_bytes().replace(b"\n", b"\r\n"))
    assert agent("config", "check", "--config", path).exit_code == 0


@pytest.mark.parametrize("arguments", [(), ("--set", "x"), ("--set", "sink=stdout")])
def test_no_configuration_is_an_error(arguments: tuple[str, ...]) -> None:
    done = agent(*arguments)
    assert done.exit_code == 2
    assert "--config FILE" in done.errors
    assert done.output == ""


@pytest.mark.parametrize("command", ["dump", "verify"])
def test_a_path_that_does_not_exist(command: str, agent_dir: AgentDir) -> None:
    options = ["--tree"] if command == "dump" else []
    for path in ("/nope", "/nope/CommitLog-7-1.log"):
        done = agent(command, *options, path)
        assert done.exit_code == 2
        assert f"{path}: no such file" in done.errors


def test_rights_name_user_owner_mode_and_command(agent_dir: AgentDir) -> None:
    from sidecar.files.directories import _rights

    agent_dir.offsets.chmod(0o500)
    text = _rights(agent_dir.offsets)
    assert f"uid {os.geteuid()}" in text
    assert "mode 0500" in text
    assert f"setfacl -m u:{os.geteuid()}:rwx {agent_dir.offsets}" in text


def test_dump_rejects_a_schema_without_tables(agent_dir: AgentDir, tmp_path: Path) -> None:
    agent_dir.schema.write_text("hello world;")
    done = agent("dump", "--schema", agent_dir.schema, agent_dir.cdc_raw)
    assert done.exit_code == 2
    assert "no CREATE TABLE" in done.errors
