"""Common configuration mistakes, one per row: `config check`, `check` and `run` report property,
value, allowed values and remedy, or accept the value."""

import os
from collections.abc import Callable

import pytest

from sidecar.files.directories import _rights
from tests.support.agents import agent_command
from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.agent_main import agent

BROKER = "kafka.producer.bootstrap.servers"
KAFKA = {"sink": "kafka", BROKER: "127.0.0.1:1"}
OFFSETS = "offset.backing.store.dir"
RELOCATION = "commit.log.relocation.dir"
CREATION = "topic.creation.default"
Prepare = Callable[[AgentDir], object]


def mistake(
    name: str, changes: dict[str, str], parts: str, prepare: Prepare = lambda agent_dir: None
) -> object:
    """`{dir}` in a value is the agent's directory. Bars separate the `parts` of the message, which
    contains the last property. `prepare` changes the directory."""
    return pytest.param(changes, parts.split(" | "), prepare, id=name)


def written(line: str) -> object:
    """Parse a line of `LINES`."""
    properties, _, parts = line.partition(" => ")
    pairs = [each.partition("=") for each in properties.split("; ")]
    kafka = KAFKA if pairs[0][0] == "kafka" else {}
    changes = {name: value for name, equals, value in pairs if equals}
    return mistake(line, {**kafka, **changes}, parts)


def link_to_cdc_raw(agent_dir: AgentDir) -> None:
    (agent_dir.folder / "link").symlink_to(agent_dir.cdc_raw)


def inside_cdc_raw(agent_dir: AgentDir) -> None:
    (agent_dir.cdc_raw / "inner").mkdir()


def around_cdc_raw(agent_dir: AgentDir) -> None:
    (agent_dir.relocation / "archive").mkdir()


def schema(text: str) -> Prepare:
    return lambda agent_dir: agent_dir.schema.write_text(text)


DESCRIBE = "schema.file | no CREATE TABLE | DESCRIBE SCHEMA WITH INTERNALS"
LINES = """
offset.backing.store.dir={dir}/cdc_raw => the same directory as | Configure a directory outside it
commit.log.relocation.dir={dir}/cdc_raw => the same directory as
offset.backing.store.dir={dir}/offsets/../cdc_raw => the same directory as
file.path={dir}/cdc_raw/events.ndjson => is inside
kafka; kafka.producer.bootstrap.servers=127.0.0.1:99999 => 99999 | 1 to 65535
kafka; kafka.producer.bootstrap.servers=h:0 => `0` | 1 to 65535
kafka; kafka.producer.bootstrap.servers=h:kafka => `kafka` | 1 to 65535
kafka; kafka.producer.bootstrap.servers=http://h:9092 => `http://` | host:port
kafka; kafka.producer.bootstrap.servers=a:1,,b:1 => empty part | host:port
kafka; kafka.producer.bootstrap.servers=a:1, => empty part
kafka; kafka.producer.bootstrap.servers=broker => no port | `broker:9092`
kafka; kafka.producer.bootstrap.servers=a:1;b:2 => a:1;b
kafka; kafka.producer.bootstrap.servers=::1:9092 => brackets | [::1]:9092
node.id=${vault:x} => ${vault:x} | ${env:NAME} | $${
file.path=${HOME}/x => ${HOME} | ${env:HOME}
node.id=a${env:NOT_SET}b => NOT_SET | is not set
topic.prefix=foo # my prefix => letters, digits, `.`, `_` and `-` | comment
topic.prefix=für => not `für` | letters, digits
cassandra.ssl.config.path=/etc/ssl.properties => plaintext | cassandra.ssl.enabled=true
kafka; kafka.producer.sasl.mechanism=FOO => `FOO` | SCRAM-SHA-512
kafka; kafka.producer.sasl.mechanism=PLAIN => security.protocol | SASL_SSL
kafka; kafka.producer.ssl.truststore.location=/t.pem => plaintext | Set it to SSL
kafka; kafka.producer.acks=1 => `1` | must be `all`
http.host=10.255.255.1 => http.host=10.255.255.1 | not an address of this machine | 0.0.0.0
http.host=http://localhost => without `http://`
http.host=localhost:80 => without a port
cassandra.hosts=127.0.0.1:9042 => without a port | cassandra.port
offset.flush.interval.ms=10 years => 10 years | 10s, 5m or 1h
inflight.max.bytes=1.5GiB => 1.5GiB | 64Mi or 64m
"""
"""Properties, with parts of the message about the last one; `kafka` stands for the sink."""
MISTAKES = [
    mistake(
        "offsets behind a link",
        {OFFSETS: "{dir}/link"},
        "the same directory as",
        prepare=link_to_cdc_raw,
    ),
    mistake(
        "relocation inside cdc_raw",
        {RELOCATION: "{dir}/cdc_raw/inner"},
        "is inside",
        prepare=inside_cdc_raw,
    ),
    mistake(
        "cdc_raw inside the archive",
        {"cdc.raw.directory": "{dir}/relocation/archive", RELOCATION: "{dir}/relocation"},
        "inside its directory `archive`",
        prepare=around_cdc_raw,
    ),
    mistake("long prefix", {"topic.prefix": "p" * 300}, "300 | 249"),
    mistake(
        "topic setting",
        {"topic.creation.enable": "true", f"{CREATION}.cleanup.polcy": "compact"},
        f"nearest one is `{CREATION}.cleanup.policy`",
    ),
    mistake(
        "topic setting's value",
        {"topic.creation.enable": "true", f"{CREATION}.cleanup.policy": "compac"},
        "`compac` | compact, delete",
    ),
    mistake("no schema", {}, DESCRIBE, prepare=schema("hello world;")),
    mistake("empty schema", {}, DESCRIBE, prepare=schema("")),
    mistake(
        "bucket",
        {"commit.log.transfer.class": "GCS", "remote.commit.log.relocation.dir": "gs://b/p"},
        "`b` has 1 character | 3 to 63",
    ),
    *(written(line) for line in LINES.strip().splitlines()),
]


@pytest.mark.parametrize(("changes", "parts", "prepare"), MISTAKES)
def test_command_reports_property_value_and_remedy(
    agent_dir: AgentDir, changes: dict[str, str], parts: list[str], prepare: Prepare
) -> None:
    prepare(agent_dir)
    folder = str(agent_dir.folder)
    changes = {name: value.replace("{dir}", folder) for name, value in changes.items()}
    path = agent_dir.configuration(changes)
    # `check` exits with 2 if the configuration is invalid, and with 1 if a check fails.
    for command, codes in ((("config", "check"), {2}), (("check",), {1, 2}), (("run",), {2})):
        done = agent(*command, "--config", path)
        text = done.output + done.errors
        assert done.exit_code in codes, text
        for part in (*list(changes)[-1:], *parts):
            assert part in text
        assert "Traceback" not in text


@pytest.mark.parametrize(
    ("changes", "parts", "checks"),
    [
        ({"cluster.name": "lab # mine"}, ["cluster.name", "part of the value `lab # mine`"], True),
        (
            {"cassandra.ssl.ca.path": "/etc/ca.pem", "cassandra.ssl.enabled": "false"},
            ["cassandra.ssl.ca.path", "no effect", "plaintext"],
            True,
        ),
        (
            {f"{CREATION}.partitions": "3"},
            [f"{CREATION}.partitions", "topic.creation.enable=true"],
            True,
        ),
        # `check` would wait for the broker.
        (
            {**KAFKA, "kafka.producer.enable.idempotence": "false"},
            ["enable.idempotence=false", "resends events"],
            False,
        ),
    ],
)
def test_doubtful_value_is_a_warning(
    agent_dir: AgentDir, changes: dict[str, str], parts: list[str], checks: bool
) -> None:
    path = agent_dir.configuration(changes)
    done = agent("config", "check", "--config", path)
    assert done.exit_code == 0
    texts = [done.errors, agent("check", "--config", path).output if checks else done.errors]
    assert all(part in text for text in texts for part in parts), texts


@pytest.mark.parametrize("command", ["config check", "check", "run", "config show"])
def test_agent_process_equals_the_function_call(agent_dir: AgentDir, command: str) -> None:
    """Runs a separate process; all other cases call the function."""
    value = "a # b" if command == "config show" else "a b"
    path = agent_dir.configuration({"topic.prefix": value})
    arguments = (*command.split(), "--config", str(path))
    assert agent_command.agent(*arguments) == agent(*arguments)


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
def test_value_formats_are_accepted(agent_dir: AgentDir, name: str, value: str, shown: str) -> None:
    done = agent("config", "show", "--config", agent_dir.configuration({name: value}))
    assert done.exit_code == 0, done.errors
    assert f"{name}={shown}  #" in done.output


def test_embedded_reference_is_resolved_and_escape_is_literal(
    agent_dir: AgentDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CDC_TEST_RACK", "r1")
    value = f"{agent_dir.folder}/a${{env:CDC_TEST_RACK}}b-$${{HOME}}"
    path = agent_dir.configuration({"file.path": value})
    assert agent("config", "check", "--config", path).exit_code == 0
    file = agent_dir.folder / "ar1b-${HOME}"
    file.mkdir()
    # The path is a directory: the finding contains the resolved value.
    assert f"{file} (file.path)" in agent("check", "--config", path).output


def test_unknown_reference_in_a_secret_hides_its_text(agent_dir: AgentDir) -> None:
    path = agent_dir.configuration(
        {"cassandra.username": "u", "cassandra.password": "open${sesame}door"}
    )
    done = agent("config", "check", "--config", path)
    assert done.exit_code == 2
    assert "`cassandra.password`" in done.errors
    assert "`$${`" in done.errors
    assert "sesame" not in done.errors


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_config_file_in_another_encoding_is_one_error(agent_dir: AgentDir, encoding: str) -> None:
    path = agent_dir.configuration()
    path.write_bytes(path.read_text().encode(encoding))
    done = agent("config", "check", "--config", path)
    assert done.exit_code == 2
    (line,) = done.errors.splitlines()
    assert "UTF-" in line
    assert "iconv -f" in line


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b""])
def test_byte_order_mark_and_windows_line_ends_are_accepted(
    agent_dir: AgentDir, mark: bytes
) -> None:
    path = agent_dir.configuration()
    path.write_bytes(mark + path.read_bytes().replace(b"\n", b"\r\n"))
    assert agent("config", "check", "--config", path).exit_code == 0


@pytest.mark.parametrize("arguments", [(), ("--set", "x"), ("--set", "sink=stdout")])
def test_missing_configuration_is_an_error(arguments: tuple[str, ...]) -> None:
    done = agent(*arguments)
    assert (done.exit_code, done.output) == (2, "")
    assert "--config FILE" in done.errors


def test_rights_message_contains_user_mode_and_command(agent_dir: AgentDir) -> None:
    agent_dir.offsets.chmod(0o500)
    text = _rights(agent_dir.offsets)
    assert f"uid {os.geteuid()}" in text
    assert "mode 0500" in text
    assert f"setfacl -m u:{os.geteuid()}:rwx {agent_dir.offsets}" in text


def test_dump_rejects_a_schema_without_tables(agent_dir: AgentDir) -> None:
    agent_dir.schema.write_text("hello world;")
    done = agent("dump", "--schema", agent_dir.schema, agent_dir.cdc_raw)
    assert done.exit_code == 2
    assert "no CREATE TABLE" in done.errors
