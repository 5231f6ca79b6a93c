"""The configuration file of DataStax' Java driver, as far as it says how the node is reached.

Debezium's connector has read it since 2.0, in place of `cassandra.hosts` and its like. It is HOCON;
the names are those of the driver's `reference.conf`. What else it holds is the driver's own.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sidecar.errors import ConfigError
from sidecar.properties import Origin, Setting

PROPERTY = "cassandra.driver.config.file"
_ROOT = "datastax-java-driver"
_POINTS = "basic.contact-points"
_LOGIN = "advanced.auth-provider"
_TLS = "advanced.ssl-engine-factory"
_LOGIN_CLASS, _TLS_CLASS = "PlainTextAuthProvider", "DefaultSslEngineFactory"
_STORES = {
    "truststore-path": "truststore.location",
    "truststore-password": "truststore.password",
    "keystore-path": "keystore.location",
    "keystore-password": "keystore.password",
}


def driver_settings(path: Path, environment: Mapping[str, str] | None = None) -> list[Setting]:
    """Contact points, login and whether TLS is spoken, as properties of this agent. Raises
    ConfigError.

    `environment` is what `${NAME}` refers to; the process's own when it is not given.
    """
    found = _Found(path, _document(path, environment))
    origin = Origin(str(path))
    pairs = [*found.points(), *found.login(), *found.tls()]
    return [Setting(name, value, origin) for name, value in pairs]


def driver_stores(path: Path) -> dict[str, str]:
    """The stores of its TLS under the names of `cassandra.ssl.config.path`. Raises ConfigError."""
    found = _Found(path, _document(path, None)).section(_TLS)
    return {ours: str(found[theirs]) for theirs, ours in _STORES.items() if theirs in found}


class _Found:
    def __init__(self, path: Path, document: Mapping[str, Any]) -> None:
        self._path = path
        self._document = document

    def section(self, name: str) -> Mapping[str, Any]:
        """A part of the file, empty where it is not there."""
        value: Any = self._document
        for part in (_ROOT, *name.split(".")):
            value = value.get(part) if isinstance(value, Mapping) else None
        return value if isinstance(value, Mapping) else {}

    def points(self) -> Iterator[tuple[str, str]]:
        """Every node has the same port: the agent asks the one beside it."""
        head, _, last = _POINTS.rpartition(".")
        points = self.section(head).get(last) or []
        pairs = [str(point).strip().rpartition(":") for point in points]
        if not isinstance(points, list) or not all(h and p.isdecimal() for h, _, p in pairs):
            raise self._wrong(_POINTS, "must be a list of `host:port`")
        if len({port for _, _, port in pairs}) > 1:
            raise self._wrong(_POINTS, "must have one port, that of the node beside the agent")
        if pairs:
            yield "cassandra.hosts", ",".join(host.strip("[]") for host, _, _ in pairs)
            yield "cassandra.port", pairs[0][2]

    def login(self) -> Iterator[tuple[str, str]]:
        login = self.section(_LOGIN)
        if not login:
            return
        if not str(login.get("class", _LOGIN_CLASS)).endswith(_LOGIN_CLASS):
            raise self._wrong(f"{_LOGIN}.class", f"must be {_LOGIN_CLASS}: there is no JVM here")
        for name in ("username", "password"):
            if name not in login:
                raise self._wrong(f"{_LOGIN}.{name}", "must be set")
            yield f"cassandra.{name}", str(login[name])

    def tls(self) -> Iterator[tuple[str, str]]:
        tls = self.section(_TLS)
        if not tls:
            return
        if not str(tls.get("class", _TLS_CLASS)).endswith(_TLS_CLASS):
            raise self._wrong(f"{_TLS}.class", f"must be {_TLS_CLASS}: there is no JVM here")
        yield "cassandra.ssl.enabled", "true"
        if "hostname-validation" in tls:
            checks = str(tls["hostname-validation"]).lower()
            yield "cassandra.ssl.check.hostname", checks

    def _wrong(self, name: str, what: str) -> ConfigError:
        return ConfigError(f"`{PROPERTY}`: `{_ROOT}.{name}` in {self._path} {what}.")


def _document(path: Path, environment: Mapping[str, str] | None) -> Mapping[str, Any]:
    # Imported here: few have such a file.
    import hocon

    try:
        read = hocon.parse_file(str(path), env=None if environment is None else dict(environment))
        document = read.to_object()
    except OSError as error:
        raise ConfigError(
            f"`{PROPERTY}`: {path} cannot be read: {error.strerror or error}."
        ) from error
    except (hocon.ParseError, hocon.ResolveError, hocon.ConfigError, UnicodeDecodeError) as error:
        raise ConfigError(f"`{PROPERTY}`: {path} is no HOCON that can be read: {error}.") from error
    return document if isinstance(document, dict) else {}
