"""Address, login and TLS from the configuration file of the Java driver."""

import ssl
from pathlib import Path

import pytest

from agent.config.loader import AgentConfig
from agent.config.tls import tls_context
from sidecar.errors import ConfigError
from sidecar.properties.show import rows
from tests.support.agents.minimal_configuration import of_lines
from tests.support.servers.certificates import Authority

ROOT = "datastax-java-driver"


def loaded(folder: Path, text: str, *lines: str, **environment: str) -> AgentConfig:
    file = folder / "application.conf"
    file.write_text(text)
    return of_lines(folder, *lines, f"cassandra.driver.config.file={file}", **environment)


def test_address_and_login_are_read_from_driver_file(tmp_path: Path) -> None:
    text = f"""
        {ROOT}.basic.contact-points = ["10.0.0.7:9142", "[2001:db8::1]:9142"]
        {ROOT} {{
          advanced.auth-provider {{
            class = com.datastax.oss.driver.internal.core.auth.PlainTextAuthProvider
            username = cdc   // a comment
            password = ${{?CASSANDRA_PASSWORD}}
          }}
          profiles.slow {{ basic.request.timeout = 1 hour }}
        }}"""
    config = loaded(tmp_path, text, CASSANDRA_PASSWORD="from the environment")
    assert (config.hosts, config.port) == (("10.0.0.7", "2001:db8::1"), 9142)
    properties = config.properties
    assert properties.cassandra_username == "cdc"
    assert properties.cassandra_password is not None
    assert properties.cassandra_password.get_secret_value() == "from the environment"
    assert not properties.cassandra_ssl_enabled
    assert config.warnings == ()


@pytest.mark.parametrize("written", ["0123", "12e4", "true", "1.50", "on"])
def test_login_in_driver_file_is_read_as_string(tmp_path: Path, written: str) -> None:
    """The driver reads user name and password as strings."""
    login = f"{ROOT}.advanced.auth-provider {{ username = {written}, password = {written} }}"
    properties = loaded(tmp_path, login).properties
    assert properties.cassandra_username == written
    assert properties.cassandra_password is not None
    assert properties.cassandra_password.get_secret_value() == written


def test_properties_override_driver_file_and_show_their_origin(tmp_path: Path) -> None:
    text = f"""{ROOT} {{
        basic.contact-points = ["10.0.0.7:9142"]
        advanced.auth-provider {{ class = PlainTextAuthProvider, username = u, password = hidden }}
    }}"""
    config = loaded(tmp_path, text, "cassandra.hosts=127.0.0.1")
    assert (config.hosts, config.port) == (("127.0.0.1",), 9142)
    shown = {row.name: (row.value, Path(str(row.origin)).name) for row in rows(config.loaded)}
    assert shown["cassandra.port"] == ("9142", "application.conf")
    assert shown["cassandra.password"] == ("********", "application.conf")
    assert shown["cassandra.hosts"] == ("127.0.0.1", "cdc.properties:6")
    assert "hidden" not in repr(shown)


def test_empty_driver_file_leaves_defaults(tmp_path: Path) -> None:
    config = loaded(tmp_path, "")
    assert (config.hosts, config.port) == (("localhost",), 9042)


def test_tls_stores_are_read_from_driver_file(tmp_path: Path) -> None:
    authority = Authority()
    trust = authority.truststore(tmp_path / "trust.p12", "changeit")
    key = authority.signed("agent").pkcs12(tmp_path / "key.p12", "changeit")
    text = f"""{ROOT}.advanced.ssl-engine-factory {{
        class = DefaultSslEngineFactory
        hostname-validation = false
        truststore-path = "{trust}"
        truststore-password = changeit
        keystore-path = "{key}"
        keystore-password = changeit
    }}"""
    config = loaded(tmp_path, text)
    context = tls_context(config.properties)
    assert context is not None
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert not context.check_hostname
    assert len(context.get_ca_certs()) == 1
    (warning,) = config.warnings
    assert "cassandra.ssl.check.hostname=false" in warning


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a {", "is not valid HOCON"),
        ("a = 1\nb = [\n", "(line 3, column 1)"),
        ("a = ${NOT_SET_ANYWHERE}", "NOT_SET_ANYWHERE"),
        ("a = 1\n  b = ${NOT_SET_ANYWHERE}", "(line 2, column 7)"),
        (f'{ROOT}.basic.contact-points = ["10.0.0.7"]', "`10.0.0.7`: it must be a list of `host:"),
        (f"{ROOT}.basic.contact-points = here", "`here`: it must be a list of `host:port`"),
        (f"{ROOT}.basic.contact-points {{ a = b }}", "must be a list of `host:port`"),
        (f'{ROOT}.basic.contact-points = ["a:1", "b:2"]', "`a:1, b:2`: all must use the port"),
        (f'{ROOT}.basic.contact-points = ["a:99999"]', "must be at most 65535, not `99999`"),
        (
            f"{ROOT}.advanced.auth-provider.class = DseGssApiAuthProvider",
            "is `DseGssApiAuthProvider`: it must be PlainTextAuthProvider",
        ),
        (
            f"{ROOT}.advanced.auth-provider {{ username = u, password = null }}",
            "auth-provider.password` in",
        ),
        (
            f"{ROOT}.advanced.auth-provider {{ username = u, password = [hidden] }}",
            "auth-provider.password` in",
        ),
        (f"{ROOT}.advanced.auth-provider.username = u", "auth-provider.password"),
        (f"{ROOT}.advanced.ssl-engine-factory.class = a.B", "must be DefaultSslEngineFactory"),
        (f"{ROOT}.advanced.ssl-engine-factory.hostname-validation = perhaps", "true or false"),
    ],
)
def test_unusable_driver_file_yields_one_error(tmp_path: Path, text: str, part: str) -> None:
    with pytest.raises(ConfigError) as raised:
        loaded(tmp_path, text)
    (problem,) = raised.value.problems
    assert part in problem
    assert str(tmp_path / "application.conf") in problem
    assert "hidden" not in problem


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/none/application.conf", r"/none/application\.conf cannot be read"),
        ("a\\u0000b", r"driver\.config\.file` must not contain .* NUL"),
    ],
)
def test_missing_driver_file_is_reported(tmp_path: Path, path: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        of_lines(tmp_path, f"cassandra.driver.config.file={path}")
