"""What goes on between the node and a store ends with the agent, though the store never answers."""

from pathlib import Path

import pytest

from agent.cdc_raw import SegmentName
from agent.metrics import AgentMetrics
from agent.store.apart import StoreApart
from agent.transfer.remote_errors import RemoteErrors, RemoteErrorsSettings
from agent.transfer.uploads import Uploads, UploadSettings
from sidecar.metrics import DeliveryMetrics
from tests.agent.store.folder_store import HANGING, FolderStore
from tests.harness.processes import wait_until

NAME = SegmentName(1, 7)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "stored"
    folder.mkdir()
    return folder


@pytest.fixture
def store(folder: Path) -> StoreApart:
    return StoreApart(FolderStore(folder, hanging=NAME.log))


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    """In a directory of its own."""
    log = tmp_path / "waiting" / NAME.log
    log.parent.mkdir()
    log.write_bytes(b"a segment")
    return log


@pytest.fixture
def metrics() -> AgentMetrics:
    return AgentMetrics(DeliveryMetrics("agent", "1.2.3"))


def test_an_upload(folder: Path, store: StoreApart, segment: Path, metrics: AgentMetrics) -> None:
    uploads = Uploads(store, UploadSettings(segment.parent, 1 << 20), metrics)
    uploads.open()
    wait_until((folder / HANGING).exists, "the upload to hang")
    uploads.close(0)
    assert not uploads._thread.is_alive()
    assert store.pid is None
    assert segment.exists()


def test_a_quarantined_segment(
    tmp_path: Path, folder: Path, store: StoreApart, segment: Path, metrics: AgentMetrics
) -> None:
    errors = RemoteErrors(store, RemoteErrorsSettings(segment.parent, tmp_path), metrics)
    errors.open()
    wait_until((folder / HANGING).exists, "the upload to hang")
    errors.close(0)
    assert not errors._thread.is_alive()
    assert store.pid is None
    assert segment.exists()
