"""Transfers to a store end with the agent even if the store never answers."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agent.cdc_raw.names import SegmentName
from agent.metrics import AgentMetrics
from agent.transfer.quarantine_sync import QuarantineSync, QuarantineSyncSettings
from agent.transfer.upload_queue import UploadQueue, UploadSettings
from sidecar.metrics import DeliveryMetrics
from sidecar.store.subprocess_store import SubprocessStore
from tests.support.servers.processes import wait_until
from tests.support.sinks.folder_store import HANGING, FolderStore

NAME = SegmentName(1, 7)


def uploads(store: SubprocessStore, directory: Path) -> UploadQueue:
    metrics = AgentMetrics(DeliveryMetrics("agent", "1.2.3"))
    return UploadQueue(store, UploadSettings(directory, 1 << 20), metrics)


def remote_errors(store: SubprocessStore, directory: Path) -> QuarantineSync:
    metrics = AgentMetrics(DeliveryMetrics("agent", "1.2.3"))
    return QuarantineSync(store, QuarantineSyncSettings(directory, directory.parent), metrics)


@pytest.mark.parametrize("sender", [uploads, remote_errors])
def test_hanging_store_calls_end_with_the_agent(
    tmp_path: Path, sender: Callable[[SubprocessStore, Path], UploadQueue | QuarantineSync]
) -> None:
    stored, directory = tmp_path / "stored", tmp_path / "waiting"
    stored.mkdir()
    directory.mkdir()
    segment = directory / NAME.log
    segment.write_bytes(b"a segment")
    store = SubprocessStore(FolderStore(stored, hanging=NAME.log))
    sending = sender(store, directory)
    sending.open()
    wait_until((stored / HANGING).exists, "the request to hang")
    sending.close(0)
    assert not sending.is_running
    assert store.pid is None
    assert segment.exists()
