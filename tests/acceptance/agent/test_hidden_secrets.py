"""An agent with a marker in every secret, at debug level, while all its servers fail: no output
contains a marker."""

from pathlib import Path

import pytest

from sidecar.check.broker import ask_broker
from sidecar.properties.secrets import is_secret_name
from sidecar.sinks.kafka.config.java_names import KNOWN
from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.agents.agent_main import agent
from tests.support.agents.marked_secrets import DEADLINE_S, MARK, NOWHERE, answer, marks, secret
from tests.support.servers.agent_process import AgentProcess
from tests.support.servers.certificates import Authority

PAGES = (
    *("/", "/ping", "/live", "/ready", "/health", "/offsets", "/snapshot", "/configuration"),
    *("/metrics", "/metrics.json", "/metrics/jmx", "/page.json", "/buildinfo", "/history", "/no"),
)


def settings(agent_dir: AgentDir) -> dict[str, str]:
    """Every property that contains a secret, by its type or by its name."""
    authority = Authority()
    trust = authority.truststore(agent_dir.folder / "trust.p12", secret(1))
    key = authority.signed("client").pkcs12(agent_dir.folder / "key.p12", secret(2))
    token = agent_dir.folder / "token"
    token.write_text(secret(3))
    stores = agent_dir.folder / "ssl.properties"
    stores.write_text(
        f"trustStore.location={trust}\ntrustStore.password={secret(1)}\n"
        f"keyStore.location={key}\nkeyStore.password={secret(2)}\n"
    )
    login = "org.apache.kafka.common.security.plain.PlainLoginModule"
    registry = {
        "schema.registry.url": f"http://user:{secret(4)}@{NOWHERE}",
        "basic.auth.credentials.source": "USER_INFO",
        "basic.auth.user.info": f"user:{secret(5)}",
        "bearer.auth.token": secret(6),
    }
    return {
        "log.level": "debug",
        "sink": "kafka",
        "http.token.file": str(token),
        "cassandra.username": "cdc",
        "cassandra.password": secret(7),
        "cassandra.ssl.enabled": "true",
        "cassandra.ssl.config.path": str(stores),
        "cassandra.ssl.key.password": secret(2),
        "commit.log.keystore.path": str(agent_dir.folder / "no.keystore"),
        "commit.log.keystore.password": secret(8),
        "commit.log.keystore.key.password": secret(9),
        "kafka.producer.bootstrap.servers": NOWHERE,
        "kafka.producer.debug": "all",
        "kafka.producer.security.protocol": "SASL_SSL",
        "kafka.producer.sasl.mechanism": "PLAIN",
        "kafka.producer.sasl.jaas.config": (
            f'{login} required username="cdc" password="{secret(10)}";'
        ),
        "kafka.producer.ssl.truststore.location": str(trust),
        "kafka.producer.ssl.truststore.password": secret(1),
        "kafka.producer.ssl.keystore.location": str(key),
        "kafka.producer.ssl.keystore.type": "JKS",
        "kafka.producer.ssl.keystore.password": secret(2),
        "kafka.producer.ssl.key.password": secret(2),
        "kafka.producer.sasl.oauthbearer.client.secret": secret(11),
        "kafka.producer.sasl.oauthbearer.config": f"principal=cdc secret={secret(12)}",
        "kafka.producer.sasl.oauthbearer.assertion.private.key.passphrase": secret(13),
        "kafka.consumer.sasl.jaas.config": f'{login} required password="{secret(14)}";',
        "commit.log.transfer.s3.secret.key": secret(15),
        "signal.kafka.sasl.password": secret(16),
        "notification.api.key": secret(17),
        "heartbeat.token": secret(18),
        "key.converter": "avro",
        "value.converter": "avro",
        **{f"key.converter.{name}": value for name, value in registry.items()},
        **{f"value.converter.{name}": value for name, value in registry.items()},
    }


@pytest.mark.parametrize(
    "asks_the_node",
    [
        pytest.param(False, id="broker-away", marks=pytest.mark.slow),
        pytest.param(True, id="node-away"),
    ],
)
def test_running_agent_hides_secrets(
    agent_dir: AgentDir, tmp_path: Path, asks_the_node: bool
) -> None:
    write_segment(agent_dir.cdc_raw, 1, [[payload(1, b"a")]])
    changes = {**agent_dir.settings(), **settings(agent_dir)}
    if asks_the_node:
        del changes["schema.file"]
        changes |= {"cassandra.hosts": "127.0.0.1", "cassandra.port": "9"}
    del changes["http.host"], changes["http.port"]
    process = AgentProcess("agent", tmp_path / "process", changes, ("--debug", "run"))
    process.launch()
    try:
        process.wait_until(lambda: b'"status"' in process.get("/health"), "an answer", DEADLINE_S)
        about = b"127.0.0.1:9" if asks_the_node else b"registry"
        process.wait_until(lambda: about in process.get("/health"), "the trouble", DEADLINE_S)
        for page in PAGES:
            assert marks(answer(process.url + page)) == [], page
        for token, sentence in ((None, b"Authorization: Bearer"), ("x", b"The token is wrong")):
            for change in ("/snapshot/start", "/snapshot/stop"):
                refused = answer(process.url + change, token, is_change=True)
                assert sentence in refused
                assert marks(refused) == []
        process.stop()
    finally:
        process.end()
    log = (tmp_path / "process" / "agent.log").read_bytes()
    assert b"starting" in log
    assert marks(log) == []
    for written in (agent_dir.offsets, agent_dir.relocation):
        for file in written.rglob("*"):
            assert not file.is_file() or marks(file.read_bytes()) == [], file


@pytest.mark.parametrize(
    "command",
    [
        ("config", "show", "--all"),
        ("config", "check"),
        ("offsets", "show"),
        ("quarantine", "list"),
        ("check",),
    ],
)
def test_agent_command_hides_secrets(
    agent_dir: AgentDir,
    command: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(ask_broker, "__defaults__", (0.1,))
    changes: dict[str, str | None] = {**settings(agent_dir)}
    done = agent("--debug", *command, "--config", agent_dir.configuration(changes))
    assert done.output + done.errors
    # The client libraries write to the file descriptors.
    assert marks("".join((done.output, done.errors, *capfd.readouterr())).encode()) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"cassandra.username": None},
        {"kafka.producer.acks": "1"},
        {"kafka.producer.ssl.truststore.password": secret(20)},
        {"kafka.producer.sasl.jaas.config": f'a.B required password="{secret(20)}";'},
        {"kafka.producer.sasl.jaas.config": secret(20)},
        {"kafka.producer.sasl.passwort": secret(20)},
        {"value.converter.basic.auth.user.info": MARK},
        {"value.converter.schema.registry.url": f"ftp://user:{MARK}@registry"},
        {"value.converter.bearer.auth.token.x": secret(20)},
        {"cassandra.passwort": secret(20)},
        {"cassandra.password": f"${{file:/none/{'x'}}}{secret(20)}"},
    ],
    ids=lambda changes: "-".join(changes),
)
def test_config_error_hides_secrets(agent_dir: AgentDir, changes: dict[str, str | None]) -> None:
    """The value of the secret is wrong, or another property is."""
    path = agent_dir.configuration({**settings(agent_dir), **changes})
    done = agent("--debug", "config", "check", "--config", path)
    assert (done.exit_code, marks((done.output + done.errors).encode())) == (2, [])


def test_every_producer_secret_has_a_marker(agent_dir: AgentDir) -> None:
    """Fails if a new client adds a secret; another test covers PEM keys."""
    set_here = {name.removeprefix("kafka.producer.") for name in settings(agent_dir)}
    in_pem = {"sasl.oauthbearer.assertion.private.key.pem", "ssl.key.pem", "ssl.keystore.key"}
    assert {name for name in KNOWN if is_secret_name(name)} - set_here - in_pem == {"sasl.password"}
