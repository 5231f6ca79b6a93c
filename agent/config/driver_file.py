"""Reads the node's addresses, login and TLS from a file of the DataStax Java driver.

Since 2.0, Debezium's connector uses this file instead of `cassandra.hosts`. The format is HOCON,
with the option names of the driver's `reference.conf`. All other options are ignored.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sidecar.errors import ConfigError
from sidecar.files.regular import read_bounded
from sidecar.properties.source import Origin, Setting

if TYPE_CHECKING:
    from hocon import HoconObject, HoconValue

PROPERTY = "cassandra.driver.config.file"
_MAX_BYTES = 256 << 10
"""Twice the size of the driver's own `reference.conf`. The parser takes seconds for 1 MiB."""
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
    """Reads contact points, login and TLS as properties of this agent. Raises ConfigError.
    `environment` resolves `${NAME}`, and defaults to the environment of the process."""
    found = _Found(path, _document(path, environment))
    origin = Origin(str(path))
    pairs = [*found.points(), *found.login(), *found.tls()]
    return [Setting(name, value, origin) for name, value in pairs]


def driver_stores(path: Path) -> dict[str, str]:
    """Reads keystores, with the names of `cassandra.ssl.config.path`. Raises ConfigError."""
    found = _Found(path, _document(path, None))
    texts = {ours: found.text(_TLS, theirs) for theirs, ours in _STORES.items()}
    return {ours: text for ours, text in texts.items() if text is not None}


class _Found:
    def __init__(self, path: Path, document: "HoconObject") -> None:
        self._path = path
        self._document = document

    def value(self, name: str) -> "HoconValue | None":
        """Returns the value at a path, or None if it is missing or `null`."""
        from hocon import HoconObject, is_null

        value: HoconValue | None = self._document
        for part in (_ROOT, *name.split(".")):
            value = value.fields.get(part) if isinstance(value, HoconObject) else None
        return None if value is None or is_null(value) else value

    def has(self, section: str) -> bool:
        from hocon import HoconObject

        value = self.value(section)
        return isinstance(value, HoconObject) and bool(value.fields)

    def text(self, section: str, name: str) -> str | None:
        """Returns the unparsed text of a value, so that `0123` keeps its zero."""
        from hocon import HoconScalar

        value = self.value(f"{section}.{name}")
        if value is None or isinstance(value, HoconScalar):
            return None if value is None else value.raw
        raise self._wrong(f"{section}.{name}", "must be text")

    def points(self) -> Iterator[tuple[str, str]]:
        """Yields the contact points, which must all use the same port."""
        from hocon import HoconArray, HoconScalar

        value = self.value(_POINTS)
        points = [value] if value is not None else []
        if isinstance(value, HoconArray):
            points = value.items
        texts = [point.raw if isinstance(point, HoconScalar) else "" for point in points]
        shown = f"`{', '.join(texts)}`"
        pairs = [text.strip().rpartition(":") for text in texts]
        is_list = value is None or isinstance(value, HoconArray)
        if not is_list or not all(host and port.isdecimal() for host, _, port in pairs):
            raise self._wrong(_POINTS, f"is {shown}: it must be a list of `host:port`")
        if len({port for _, _, port in pairs}) > 1:
            raise self._wrong(_POINTS, f"is {shown}: all must use the port of the local node")
        if pairs:
            yield "cassandra.hosts", ",".join(host.strip("[]") for host, _, _ in pairs)
            yield "cassandra.port", pairs[0][2]

    def login(self) -> Iterator[tuple[str, str]]:
        if not self.has(_LOGIN):
            return
        self._class(_LOGIN, _LOGIN_CLASS)
        for name in ("username", "password"):
            text = self.text(_LOGIN, name)
            if text is None:
                raise self._wrong(f"{_LOGIN}.{name}", "must be set")
            yield f"cassandra.{name}", text

    def tls(self) -> Iterator[tuple[str, str]]:
        if not self.has(_TLS):
            return
        self._class(_TLS, _TLS_CLASS)
        yield "cassandra.ssl.enabled", "true"
        checks = self.text(_TLS, "hostname-validation")
        if checks is not None:
            yield "cassandra.ssl.check.hostname", checks.lower()

    def _class(self, section: str, known: str) -> None:
        written = self.text(section, "class")
        if written is not None and not written.endswith(known):
            raise self._wrong(
                f"{section}.class",
                f"is `{written}`: it must be {known}; the agent cannot run Java classes",
            )

    def _wrong(self, name: str, what: str) -> ConfigError:
        return ConfigError(f"`{PROPERTY}`: `{_ROOT}.{name}` in {self._path} {what}.")


def _document(path: Path, environment: Mapping[str, str] | None) -> "HoconObject":
    # Imported here, because few configurations use such a file.
    import hocon

    if "\0" in str(path):
        raise ConfigError(f"`{PROPERTY}` must not contain the character NUL. Remove it.")
    try:
        read = hocon.parse_file(
            str(path),
            env=None if environment is None else dict(environment),
            # Included files are read in the same way.
            read_file=lambda name: read_bounded(Path(name), _MAX_BYTES).decode("utf-8-sig"),
        )
        root = read.get_value(_ROOT)
    except OSError as error:
        raise ConfigError(
            f"`{PROPERTY}`: {path} cannot be read: {error.strerror or error}."
        ) from error
    except (hocon.ParseError, hocon.ResolveError) as error:
        place = f" (line {error.line}, column {error.col})" if error.line > 0 else ""
        raise ConfigError(f"`{PROPERTY}`: {path} is not valid HOCON: {error}{place}.") from error
    except (hocon.ConfigError, UnicodeDecodeError) as error:
        raise ConfigError(f"`{PROPERTY}`: {path} is not valid HOCON: {error}.") from error
    return hocon.HoconObject({} if root is None else {_ROOT: root})
