"""The node settings that the agent needs, with their names in Cassandra 3.11 to 5.0.

`cassandra.yaml` contains them; since 4.0, a running node reports them in `system_views.settings`.
The YAML parser limits the size, the depth and the number of values.

Sources: Cassandra's `Config`, `DatabaseDescriptor`, `DurationSpec` and `DataStorageSpec`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from agent.config.keystore import node_keystore
from agent.keystore.source import KeystoreSettings
from sidecar.errors import ConfigError
from sidecar.files.regular import read_regular

MAX_BYTES = 1 << 20
"""Ten times the size of Cassandra's default cassandra.yaml."""
_MOST_TEXT = 200
_MOST_NODES = 20_000
"""Cassandra's default file contains 500; half a million take 300 MiB and seconds."""


class _Loader(yaml.SafeLoader):
    _nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            raise self._unsupported(f"more than {_MOST_NODES} values are not supported")
        # Twenty lines with aliases can expand to a billion values.
        if self.check_event(yaml.AliasEvent):
            raise self._unsupported("aliases are not supported")
        return super().compose_node(parent, index)

    def _unsupported(self, what: str) -> yaml.YAMLError:
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        return yaml.composer.ComposerError(None, None, what, mark)


def bounded_yaml(text: str) -> Any:
    """Parses a document. Raises ValueError with the reason and, if known, the line."""
    if len(text) > MAX_BYTES:
        raise ValueError(f"has more than {MAX_BYTES >> 20} MiB")
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark is not None else ""
        problem = str(getattr(error, "problem", error))[:_MOST_TEXT]
        raise ValueError(f"is not valid YAML{where}: {problem}") from error
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error
    except (ValueError, OverflowError) as error:
        # Dates and numbers that Python cannot represent.
        raise ValueError("has an invalid date or number") from error


_MIB = 1 << 20
_BYTES_OF_UNIT = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_NANOSECONDS_OF_UNIT = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
    "d": 86_400_000_000_000,
}
_QUANTITY = re.compile(r"(\d{1,19})\s*([A-Za-zµ]+)")
_WILDCARD_ADDRESSES = ("0.0.0.0", "::")
_DEFAULT_TOTAL_BYTES = 4096 * _MIB
_NAMES = frozenset(
    (
        *("cluster_name", "cdc_enabled", "cdc_raw_directory", "commitlog_directory"),
        *("cdc_total_space", "cdc_total_space_in_mb", "cdc_block_writes", "cdc_on_repair_enabled"),
        *("commitlog_sync", "commitlog_sync_period", "commitlog_sync_period_in_ms"),
        *("commitlog_sync_group_window", "commitlog_sync_group_window_in_ms"),
        *("rpc_address", "broadcast_rpc_address", "listen_address", "native_transport_port"),
    )
)


@dataclass(frozen=True)
class NodeSettings:
    """Settings of one node. None means that only the node knows the default."""

    source: str
    cluster_name: str
    cdc_enabled: bool
    cdc_raw_directory: Path | None
    commitlog_directory: Path | None
    cdc_total_bytes: int | None
    cdc_block_writes: bool
    cdc_on_repair_enabled: bool
    commitlog_sync: str
    commitlog_sync_period_ms: float | None
    rpc_address: str | None
    native_transport_port: int
    accord_journal_directory: Path | None = None
    """Only in `cassandra.yaml`."""
    keystore: KeystoreSettings | None = None
    """Keystore of encrypted segments; only in `cassandra.yaml`."""


def read_cassandra_yaml(path: Path) -> NodeSettings:
    """Reads the file. Raises `ConfigError` if it cannot be read or a value is invalid."""
    try:
        text = read_regular(path.resolve(), MAX_BYTES).decode("utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(f"cassandra.config: cannot read {path}: {reason}.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"cassandra.config: {path} is not UTF-8 text.") from error
    try:
        document = bounded_yaml(text)
    except ValueError as error:
        raise ConfigError(f"cassandra.config: {path} {error}.") from error
    if not isinstance(document, Mapping):
        raise ConfigError(f"cassandra.config: {path} is not a cassandra.yaml. Correct the path.")
    return _Reader(f"cassandra.config: {path}", document).node()


def settings_of_node(source: str, values: Mapping[str, str | None]) -> NodeSettings:
    """Parses rows of `system_views.settings`, whose values are text. Raises `ConfigError`."""
    document: dict[str, Any] = {}
    for name, text in values.items():
        if name in _NAMES and text is not None:
            try:
                document[name] = bounded_yaml(text)
            except ValueError as error:
                raise ConfigError(f"{source}: `{name}` {error}.") from error
    return _Reader(source, document).node()


def cdc_total_limit_bytes(configured: int | None, volume_bytes: int) -> int:
    """Returns the limit of `cdc_raw`: by default the lesser of 4096 MiB and 1/8 of its volume."""
    return configured or min(_DEFAULT_TOTAL_BYTES, volume_bytes // 8)


class _Reader:
    def __init__(self, source: str, document: Mapping[str, Any]) -> None:
        self._source = source
        self._document = document

    def node(self) -> NodeSettings:
        sync = str(self._document.get("commitlog_sync") or "periodic").strip().lower()
        accord = self._document.get("accord")
        journal = accord.get("journal_directory") if isinstance(accord, Mapping) else None
        return NodeSettings(
            source=self._source,
            cluster_name=str(self._document.get("cluster_name") or "Test Cluster"),
            cdc_enabled=self._flag("cdc_enabled", default=False),
            cdc_raw_directory=self._directory("cdc_raw_directory"),
            commitlog_directory=self._directory("commitlog_directory"),
            cdc_total_bytes=self._bytes("cdc_total_space"),
            cdc_block_writes=self._flag("cdc_block_writes", default=True),
            cdc_on_repair_enabled=self._flag("cdc_on_repair_enabled", default=True),
            commitlog_sync=sync,
            commitlog_sync_period_ms=self._sync_period_ms(sync),
            rpc_address=self._rpc_address(),
            native_transport_port=self._port("native_transport_port", 9042),
            accord_journal_directory=self._absolute("accord.journal_directory", journal),
            keystore=node_keystore(self._source.removeprefix("cassandra.config: "), self._document),
        )

    def _fault(self, key: str, value: object, wanted: str) -> ConfigError:
        text = f"{key}: {value}"[:_MOST_TEXT]
        return ConfigError(f"{self._source}: `{text}` is invalid; Cassandra accepts {wanted}.")

    def _flag(self, key: str, *, default: bool) -> bool:
        value = self._document.get(key)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        raise self._fault(key, value, "true or false")

    def _directory(self, key: str) -> Path | None:
        return self._absolute(key, self._document.get(key))

    def _absolute(self, key: str, value: object) -> Path | None:
        if not value:
            return None
        directory = Path(str(value))
        if not directory.is_absolute():
            raise self._fault(
                key,
                value,
                "an absolute path here. A relative path depends on the node's working directory; "
                "set cdc.raw.directory instead",
            )
        return directory

    def _port(self, key: str, default: int) -> int:
        value = self._document.get(key)
        if value is None:
            return default
        if isinstance(value, int) and 0 < value < 65536:
            return value
        raise self._fault(key, value, "a port number")

    def _sync_period_ms(self, sync: str) -> float | None:
        if sync == "periodic":
            return self._milliseconds("commitlog_sync_period")
        return self._milliseconds("commitlog_sync_group_window") if sync == "group" else 0.0

    def _milliseconds(self, key: str) -> float | None:
        in_ms = f"{key}_in_ms"
        if (number := self._document.get(in_ms)) is not None:
            if isinstance(number, (int, float)) and number >= 0:
                return float(number)
            raise self._fault(in_ms, number, "a number of milliseconds")
        value = self._document.get(key)
        if value is None:
            return None
        quantity = _quantity(value, _NANOSECONDS_OF_UNIT)
        if quantity is None:
            raise self._fault(key, value, "a duration such as 10s or 100ms")
        return quantity / 1_000_000

    def _bytes(self, key: str) -> int | None:
        in_mib = f"{key}_in_mb"
        if (number := self._document.get(in_mib)) is not None:
            if isinstance(number, int) and number >= 0:
                return number * _MIB
            raise self._fault(in_mib, number, "a number of mebibytes")
        value = self._document.get(key)
        if value is None:
            return None
        quantity = _quantity(value, _BYTES_OF_UNIT)
        if quantity is None:
            raise self._fault(key, value, "a size such as 4096MiB or 4GiB")
        return quantity

    def _rpc_address(self) -> str | None:
        for key in ("rpc_address", "broadcast_rpc_address", "listen_address"):
            value = self._document.get(key)
            if value and str(value) not in _WILDCARD_ADDRESSES:
                return str(value)
        return None


def _quantity(value: object, units: Mapping[str, int]) -> int | None:
    """Converts a text such as `"10s"` to the smallest unit; None if invalid. 0 needs no unit."""
    if value == 0 and not isinstance(value, bool):
        return 0
    match = _QUANTITY.fullmatch(str(value).strip())
    if match is None or match[2] not in units:
        return None
    return int(match[1]) * units[match[2]]
