"""Creates the transfer for `commit.log.transfer.class`.

A new transfer is one module, one case here, and one name in `TransferName`.
"""

import logging
from pathlib import Path

from agent.config.properties import SegmentProperties, TransferName
from agent.metrics import AgentMetrics
from agent.quarantine.files import DIRECTORY, REMOTE
from agent.store.gcs import GcsSettings, GcsStore
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


def create_transfer(
    name: TransferName,
    properties: SegmentProperties,
    cdc_raw: Path,
    node_id: str,
    metrics: AgentMetrics,
) -> Transfer:
    """Raises ConfigError."""
    if name == "gcs":
        return _remote(properties, cdc_raw, node_id, metrics)
    _warn_of_unreachable_segments(properties.relocation_directory / DIRECTORY)
    if name == "archive":
        return ArchiveTransfer(properties.relocation_directory)
    return DeleteTransfer()


def _remote(
    properties: SegmentProperties, cdc_raw: Path, node_id: str, metrics: AgentMetrics
) -> Transfer:
    longest_pause_s = properties.transfer_retry_longest_ms / 1000
    first_pause_s = min(1.0, longest_pause_s)
    uploads = UploadSettings(
        properties.relocation_directory / UPLOAD,
        properties.transfer_backlog_max_bytes,
        first_pause_s=first_pause_s,
        longest_pause_s=longest_pause_s,
    )
    errors = QuarantineSyncSettings(
        properties.relocation_directory / DIRECTORY,
        cdc_raw,
        fetches_all=properties.error_reprocessing_enabled,
        first_pause_s=first_pause_s,
        longest_pause_s=longest_pause_s,
    )
    return RemoteTransfer(
        UploadQueue(_store(properties, node_id, ARCHIVE_OF_NODE), uploads, metrics),
        QuarantineSync(_store(properties, node_id, DIRECTORY), errors, metrics),
    )


def _store(properties: SegmentProperties, node_id: str, name: str) -> SubprocessStore:
    assert properties.remote_directory is not None
    settings = GcsSettings(
        properties.remote_directory.inside(node_id, name),
        properties.credential_key_file,
        properties.transfer_chunk_bytes,
        properties.transfer_timeout_ms / 1000,
    )
    return SubprocessStore(GcsStore(settings))


def _warn_of_unreachable_segments(quarantine: Path) -> None:
    """Quarantined segments in a store of an earlier configuration."""
    if count := sum(1 for _ in quarantine.glob(f"*{REMOTE}")):
        logger.warning(
            "quarantined segments are in a remote store and cannot be retried without "
            "commit.log.transfer.class=GCS",
            extra=fields(segments=count, directory=quarantine),
        )
