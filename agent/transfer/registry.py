"""Creates the transfer for `commit.log.transfer.class`.

A new transfer needs one module and one case here. A new kind of store needs no change here: see
`sidecar.store.registry`.
"""

import logging
from dataclasses import replace
from pathlib import Path

from agent.config.model import AgentProperties
from agent.metrics import AgentMetrics
from agent.quarantine.files import DIRECTORY, REMOTE
from agent.transfer.own_class import OwnClassTransfer
from agent.transfer.quarantine_sync import QuarantineSync, QuarantineSyncSettings
from agent.transfer.segment_transfer import TransferSettings
from agent.transfer.transfer import ARCHIVE, ArchiveTransfer, Backlog, DeleteTransfer, Transfer
from agent.transfer.upload_queue import UPLOAD, UploadQueue, UploadSettings
from sidecar.logs import fields
from sidecar.store.registry import STORES, create_store
from sidecar.store.subprocess_store import SubprocessStore


class RemoteTransfer(Transfer):
    """Combines the upload queue with the quarantine sync."""

    def __init__(self, uploads: UploadQueue, quarantine: QuarantineSync) -> None:
        self._uploads = uploads
        self._quarantine = quarantine

    def transfer(self, log: Path, idx: Path) -> None:
        self._uploads.transfer(log, idx)

    def open(self) -> None:
        self._uploads.open()
        self._quarantine.open()

    def close(self, deadline_s: float) -> None:
        # Stop both first, so that neither continues while the other ends.
        self._uploads.stop()
        self._quarantine.close(0)
        self._uploads.close(deadline_s)

    @property
    def backlog(self) -> Backlog:
        """Finished segments, with the errors of both threads."""
        backlog = self._uploads.backlog
        errors = [each for each in (backlog.error, self._quarantine.error) if each]
        return replace(backlog, error=" ".join(dict.fromkeys(errors)))


logger = logging.getLogger(__name__)


def create_transfer(
    name: str,
    properties: AgentProperties,
    cdc_raw: Path,
    node_id: str,
    metrics: AgentMetrics,
) -> Transfer:
    """Raises ConfigError."""
    if name in STORES:
        return _create_remote(properties, cdc_raw, node_id, metrics)
    _warn_of_unreachable_segments(properties.relocation_directory / DIRECTORY)
    if name == ARCHIVE:
        return ArchiveTransfer(properties.relocation_directory)
    if name == "delete":
        return DeleteTransfer()
    return OwnClassTransfer(
        name,
        TransferSettings(node_id, properties.transfer_settings),
        _upload_settings(properties),
        metrics,
        report_after_s=properties.transfer_timeout_ms / 1000,
    )


def _upload_settings(properties: AgentProperties) -> UploadSettings:
    longest_pause_s = properties.transfer_retry_longest_ms / 1000
    return UploadSettings(
        properties.relocation_directory / UPLOAD,
        properties.transfer_backlog_max_bytes,
        first_pause_s=min(1.0, longest_pause_s),
        longest_pause_s=longest_pause_s,
    )


def _create_remote(
    properties: AgentProperties, cdc_raw: Path, node_id: str, metrics: AgentMetrics
) -> Transfer:
    uploads = _upload_settings(properties)
    errors = QuarantineSyncSettings(
        properties.relocation_directory / DIRECTORY,
        cdc_raw,
        fetches_all=properties.error_reprocessing_enabled,
        first_pause_s=uploads.first_pause_s,
        longest_pause_s=uploads.longest_pause_s,
    )
    return RemoteTransfer(
        UploadQueue(_create_store(properties, node_id, ARCHIVE), uploads, metrics),
        QuarantineSync(_create_store(properties, node_id, DIRECTORY), errors, metrics),
    )


def _create_store(properties: AgentProperties, node_id: str, name: str) -> SubprocessStore:
    assert properties.remote_directory is not None
    settings = properties.store_settings(
        chunk_bytes=properties.transfer_chunk_bytes, timeout_ms=properties.transfer_timeout_ms
    )
    return SubprocessStore(
        create_store(properties.remote_directory.inside(node_id, name), settings)
    )


def _warn_of_unreachable_segments(quarantine: Path) -> None:
    """Warns about quarantined segments in a store of an earlier configuration."""
    if count := sum(1 for _ in quarantine.glob(f"*{REMOTE}")):
        names = " or ".join(name.upper() for name in STORES)
        logger.warning(
            "quarantined segments are in a remote store and cannot be retried without "
            f"commit.log.transfer.class={names}",
            extra=fields(segments=count, directory=quarantine),
        )
