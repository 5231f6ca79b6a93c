"""Transfers by the values of `commit.log.transfer.class`. Another way is a module and an entry."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from agent.metrics import AgentMetrics
from agent.transfer.base import Transfer
from agent.transfer.black_hole import BlackHole
from agent.transfer.gcs import GcsSettings, GcsStore
from agent.transfer.local import Local
from agent.transfer.remote import RemoteDirectory
from agent.transfer.uploads import UPLOAD, Uploads, UploadSettings

TransferName = Literal["delete", "archive", "gcs"]

ARCHIVE_OF_NODE = "archive"


@dataclass(frozen=True, slots=True)
class TransferSettings:
    """What any of them needs; `remote` is what `gcs` cannot do without."""

    relocation_directory: Path
    node_id: str
    remote: RemoteDirectory | None = None
    key_file: Path | None = None
    backlog_max_bytes: int = 1 << 30
    chunk_bytes: int = 8 << 20
    timeout_s: float = 60.0
    retry_longest_s: float = 60.0


def _delete(settings: TransferSettings, metrics: AgentMetrics) -> Transfer:
    return BlackHole()


def _archive(settings: TransferSettings, metrics: AgentMetrics) -> Transfer:
    return Local(settings.relocation_directory)


def _gcs(settings: TransferSettings, metrics: AgentMetrics) -> Transfer:
    assert settings.remote is not None
    store = GcsStore(
        GcsSettings(
            settings.remote.inside(settings.node_id, ARCHIVE_OF_NODE),
            settings.key_file,
            settings.chunk_bytes,
            settings.timeout_s,
        )
    )
    uploads = UploadSettings(
        settings.relocation_directory / UPLOAD,
        settings.backlog_max_bytes,
        first_pause_s=min(1.0, settings.retry_longest_s),
        longest_pause_s=settings.retry_longest_s,
    )
    return Uploads(store, uploads, metrics)


_FACTORIES: Mapping[TransferName, Callable[[TransferSettings, AgentMetrics], Transfer]] = (
    MappingProxyType({"delete": _delete, "archive": _archive, "gcs": _gcs})
)


def create_transfer(
    name: TransferName, settings: TransferSettings, metrics: AgentMetrics
) -> Transfer:
    """The transfer that the configuration names; class names are understood there. Raises
    ConfigError."""
    return _FACTORIES[name](settings, metrics)
