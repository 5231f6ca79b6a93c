"""TLS to the node; `files/localhost.pem` is a test certificate with its key."""

import ssl
from pathlib import Path

import pytest

from agent.config.tls import tls_context
from sidecar.errors import ConfigError
from tests.support.agents.minimal_configuration import of_lines

PEM = Path(__file__).parent / "files" / "localhost.pem"


def context(tmp_path: Path, *lines: str) -> ssl.SSLContext | None:
    return tls_context(of_lines(tmp_path, *lines).properties)


def test_node_tls_is_off_by_default(tmp_path: Path) -> None:
    assert context(tmp_path) is None
    assert context(tmp_path, "cassandra.ssl.enabled=false", f"cassandra.ssl.ca.path={PEM}") is None


def test_node_certificate_is_verified(tmp_path: Path) -> None:
    made = context(tmp_path, "cassandra.ssl.enabled=true", f"cassandra.ssl.ca.path={PEM}")
    assert made is not None
    assert made.verify_mode is ssl.CERT_REQUIRED
    assert made.check_hostname
    assert [dict(entry[0] for entry in c["subject"]) for c in made.get_ca_certs()] == [  # type: ignore[misc]
        {"commonName": "localhost"}
    ]
    loose = context(
        tmp_path,
        "cassandra.ssl.enabled=true",
        f"cassandra.ssl.ca.path={PEM}",
        "cassandra.ssl.check.hostname=false",
    )
    assert loose is not None
    assert not loose.check_hostname
    assert loose.verify_mode is ssl.CERT_REQUIRED


@pytest.mark.parametrize(
    "names",
    [
        ("keyStore.location", "trustStore.location"),
        ("javax.net.ssl.keyStore.location", "javax.net.ssl.trustStore.location"),
    ],
)
def test_debezium_ssl_file_configures_the_stores(tmp_path: Path, names: tuple[str, str]) -> None:
    stores = tmp_path / "ssl.properties"
    stores.write_text("".join(f"{name}={PEM}\n" for name in names) + "keyStore.password=x\n")
    made = context(tmp_path, "cassandra.ssl.enabled=true", f"cassandra.ssl.config.path={stores}")
    assert made is not None
    assert len(made.get_ca_certs()) == 1


@pytest.mark.parametrize(
    ("content", "part"),
    [(None, "No such file"), (b"\xfe\xed\xfe\xed", "PEM"), (b"-----BEGIN ", "cannot be used")],
)
def test_unusable_certificate_file_is_reported(
    tmp_path: Path, content: bytes | None, part: str
) -> None:
    store = tmp_path / "keystore.jks"
    if content is not None:
        store.write_bytes(content)
    for name in ("ca", "certificate"):
        with pytest.raises(ConfigError) as raised:
            context(tmp_path, "cassandra.ssl.enabled=true", f"cassandra.ssl.{name}.path={store}")
        assert str(store) in str(raised.value)
        assert part in str(raised.value)
