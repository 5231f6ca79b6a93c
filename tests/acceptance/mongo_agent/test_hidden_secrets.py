"""The MongoDB agent with a marker in every secret, at debug level, while all its servers fail: no
output contains a marker."""

from pathlib import Path

import pytest

from tests.support.agents.marked_secrets import MARK, NOWHERE, answer, marks, secret
from tests.support.mongodb.agent_command import configuration, mongo_agent
from tests.support.servers.agent_process import AgentProcess
from tests.support.servers.certificates import Authority

PAGES = (
    "/",
    "/live",
    "/ready",
    "/health",
    "/offsets",
    "/metrics",
    "/metrics.json",
    "/metrics/jmx",
    "/page.json",
    "/configuration",
    "/signals",
)


def settings(folder: Path, *, is_string: bool) -> dict[str, str | None]:
    """With separate user and password, or with both in a connection string."""
    authority = Authority()
    trust = authority.truststore(folder / "trust.p12", secret(1))
    key = authority.signed("client").pkcs12(folder / "key.p12", secret(2))
    token = folder / "token"
    token.write_text(secret(3))
    login = "org.apache.kafka.common.security.plain.PlainLoginModule"
    shared: dict[str, str | None] = {
        "log.level": "debug",
        "sink": "kafka",
        "http.token.file": str(token),
        "mongodb.ssl.enabled": "true",
        "mongodb.ssl.truststore": str(trust),
        "mongodb.ssl.truststore.password": secret(1),
        "mongodb.ssl.keystore": str(key),
        "mongodb.ssl.keystore.password": secret(2),
        "kafka.producer.bootstrap.servers": NOWHERE,
        "kafka.producer.debug": "all",
        "kafka.producer.security.protocol": "SASL_PLAINTEXT",
        "kafka.producer.sasl.mechanism": "PLAIN",
        "kafka.producer.sasl.jaas.config": (
            f'{login} required username="cdc" password="{secret(10)}";'
        ),
        "notification.api.key": secret(17),
    }
    if is_string:
        uri = f"mongodb://cdc:{secret(30)}@{NOWHERE}/?serverSelectionTimeoutMS=500"
        return {**shared, "mongodb.hosts": None, "mongodb.connection.string": uri}
    shared |= {"mongodb.user": "cdc", "mongodb.password": secret(31)}
    return {**shared, "mongodb.server.selection.timeout.ms": "500"}


@pytest.mark.parametrize(
    "is_string",
    [
        pytest.param(False, id="password", marks=pytest.mark.slow),
        pytest.param(True, id="connection-string"),
    ],
)
def test_running_agent_hides_secrets(tmp_path: Path, is_string: bool) -> None:
    path = configuration(tmp_path, NOWHERE, None, settings(tmp_path, is_string=is_string))
    lines = (line.partition("=") for line in path.read_text().splitlines())
    properties = {name: value for name, _, value in lines if name not in ("http.host", "http.port")}
    del properties["connect.max.attempts"]
    process = AgentProcess("mongo-agent", tmp_path / "process", properties, ("--debug", "run"))
    process.launch()
    with process:
        process.wait_until(lambda: NOWHERE.encode() in process.get("/health"), "the trouble")
        for page in PAGES:
            assert marks(answer(process.url + page)) == [], page
        for token, sentence in ((None, b"Authorization: Bearer"), ("x", b"is wrong")):
            refused = answer(f"{process.url}/signals", token, is_change=True)
            assert sentence in refused
            assert marks(refused) == []
        process.stop()
    log = (tmp_path / "process" / "agent.log").read_bytes()
    assert b"starting" in log
    assert marks(log) == []


@pytest.mark.usefixtures("no_broker", "no_server")
@pytest.mark.parametrize(
    ("command", "is_string"),
    [(("config", "show", "--all"), True), (("config", "show", "--all"), False), (("check",), True)],
    ids=["show-connection-string", "show-password", "check"],
)
def test_command_hides_secrets(tmp_path: Path, command: tuple[str, ...], is_string: bool) -> None:
    path = configuration(tmp_path, NOWHERE, None, settings(tmp_path, is_string=is_string))
    done = mongo_agent("--debug", *command, "--config", path)
    assert done.output + done.errors
    assert marks((done.output + done.errors).encode()) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"mongodb.password": None, "mongodb.user": None, "mongodb.passwort": secret(20)},
        {"mongodb.hosts": None, "mongodb.connection.string": f"mongodb://cdc:{MARK}@host:port:x"},
        {"mongodb.hosts": None, "mongodb.connection.string": f"mongo://cdc:{MARK}@host"},
        {"mongodb.hosts": None, "mongodb.connection.string": f"mongodb://cdc:{MARK}/%@host"},
        {"mongodb.ssl.truststore.password": secret(20)},
        {"mongodb.ssl.keystore.password": secret(20)},
    ],
    ids=["name", "port", "scheme", "escape", "truststore", "keystore"],
)
def test_config_error_hides_secrets(tmp_path: Path, changes: dict[str, str | None]) -> None:
    base = settings(tmp_path, is_string=False)
    if changes.get("mongodb.connection.string"):
        base = {**base, "mongodb.user": None, "mongodb.password": None}
    path = configuration(tmp_path, NOWHERE, None, {**base, **changes})
    done = mongo_agent("--debug", "plan", "--config", path)
    assert done.exit_code != 0
    assert marks((done.output + done.errors).encode()) == []
