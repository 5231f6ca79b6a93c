"""Creates the transfer for `commit.log.transfer.class`.

A new transfer is one module, one entry here, and one name in `TransferName`.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from agent.config.properties import TransferName
from agent.metrics import AgentMetrics
from agent.quarantine.files import DIRECTORY, REMOTE
from agent.store.gcs import GcsSettings, GcsStore
from agent.store.remote_directory import RemoteDirectory
from agent.store.subprocess_store import SubprocessStore
from agent.transfer.archive import ArchiveTransfer
from agent.transfer.base import Transfer
from agent.transfer.delete import DeleteTransfer
from agent.transfer.quarantine_sync import QuarantineSync, QuarantineSyncSettings
from agent.transfer.remote import RemoteTransfer
from agent.transfer.upload_queue import UPLOAD, UploadQueue, UploadSettings
from sidecar.logs import fields

logger = logging.getLogger(__name__)

ARCHIVE_OF_NODE = "archive"


@dataclass(frozen=True, slots=True)
class TransferSettings:
    """Settings of all transfers; `gcs` requires `remote`."""

    relocation_directory: Path
    cdc_raw_directory: Path
    node_id: str
    remote: RemoteDirectory | None = None
    key_file: Path | None = None
    backlog_max_bytes: int = 1 << 30
    chunk_bytes: int = 4 << 20
    timeout_s: float = 60.0
    retry_longest_s: float = 60.0
    requeues_all: bool = False
    """Requeue all quarantined segments at every start."""

    @property
    def first_pause_s(self) -> float:
        return min(1.0, self.retry_longest_s)


def _delete(settings: TransferSettings, metrics: AgentMetrics) -> Transfer:
    return DeleteTransfer()


def _archive(settings: TransferSettings, metrics: AgentMetrics) -> Transfer:
    return ArchiveTransfer(settings.relocation_directory)


def _gcs(settings: TransferSettings, metrics: AgentMetrics) -> Transfer:
    uploads = UploadSettings(
        settings.relocation_directory / UPLOAD,
        settings.backlog_max_bytes,
        first_pause_s=settings.first_pause_s,
        longest_pause_s=settings.retry_longest_s,
    )
    errors = QuarantineSyncSettings(
        settings.relocation_directory / DIRECTORY,
        settings.cdc_raw_directory,
        fetches_all=settings.requeues_all,
        first_pause_s=settings.first_pause_s,
        longest_pause_s=settings.retry_longest_s,
    )
    return RemoteTransfer(
        UploadQueue(_store(settings, ARCHIVE_OF_NODE), uploads, metrics),
        QuarantineSync(_store(settings, DIRECTORY), errors, metrics),
    )


def _store(settings: TransferSettings, name: str) -> SubprocessStore:
    assert settings.remote is not None
    gcs = GcsSettings(
        settings.remote.inside(settings.node_id, name),
        settings.key_file,
        settings.chunk_bytes,
        settings.timeout_s,
    )
    return SubprocessStore(GcsStore(gcs))


_FACTORIES: Mapping[TransferName, Callable[[TransferSettings, AgentMetrics], Transfer]] = (
    MappingProxyType({"delete": _delete, "archive": _archive, "gcs": _gcs})
)


def create_transfer(
    name: TransferName, settings: TransferSettings, metrics: AgentMetrics
) -> Transfer:
    """Raises ConfigError."""
    if name != "gcs":
        _warn_of_unreachable_segments(settings.relocation_directory / DIRECTORY)
    return _FACTORIES[name](settings, metrics)


def _warn_of_unreachable_segments(quarantine: Path) -> None:
    """Quarantined segments in a store of an earlier configuration."""
    if count := sum(1 for _ in quarantine.glob(f"*{REMOTE}")):
        logger.warning(
            "quarantined segments are in a remote store and cannot be retried without "
            "commit.log.transfer.class=GCS",
            extra=fields(segments=count, directory=quarantine),
        )
