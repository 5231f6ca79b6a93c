"""Transfers by the values of `commit.log.transfer.class`. Another way is a module and an entry."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from agent.transfer.base import Transfer
from agent.transfer.black_hole import BlackHole
from agent.transfer.local import Local

TransferName = Literal["delete", "archive"]


def _black_hole(relocation_directory: Path) -> Transfer:
    return BlackHole()


_FACTORIES: Mapping[TransferName, Callable[[Path], Transfer]] = MappingProxyType(
    {"delete": _black_hole, "archive": Local}
)


def create_transfer(name: TransferName, relocation_directory: Path) -> Transfer:
    """The transfer that the configuration names; class names are understood there."""
    return _FACTORIES[name](relocation_directory)
