"""Transfers by the names of `commit.log.transfer.class`. Another way: a module, an entry."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from agent.transfer.base import Transfer
from agent.transfer.black_hole import BlackHole
from agent.transfer.local import Local
from sidecar.errors import ConfigError

_DEBEZIUM = "io.debezium.connector.cassandra."
_SUFFIX = "CommitLogTransfer"


def _black_hole(relocation_directory: Path) -> Transfer:
    return BlackHole()


_FACTORIES: Mapping[str, Callable[[Path], Transfer]] = MappingProxyType(
    {"blackhole": _black_hole, "delete": _black_hole, "local": Local, "archive": Local}
)


def create_transfer(name: str, relocation_directory: Path) -> Transfer:
    """`name` is `delete` or `archive`, or a class: `BlackHole`, `Local`, with or without the suffix
    `CommitLogTransfer` and the package. Raises ConfigError for every other one."""
    short = name.strip().removeprefix(_DEBEZIUM).removesuffix(_SUFFIX).lower()
    if short == "gcs":
        raise ConfigError(
            f"commit.log.transfer.class={name}: this release has no transfer to Google Cloud "
            "Storage. Use `archive` and copy the archive directory, or `delete`."
        )
    factory = _FACTORIES.get(short)
    if factory is None:
        raise ConfigError(
            f"commit.log.transfer.class={name} is not known. Use `delete` (or BlackHole), which "
            "deletes finished segments, or `archive` (or Local), which keeps them."
        )
    return factory(relocation_directory)
