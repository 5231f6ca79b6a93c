import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.stores.harness import RemoteKind, TransferHarness, gcs_kind, s3_kind
from tests.support.servers.fault_proxy import FaultProxy
from tests.support.servers.gcs import GcsServer
from tests.support.servers.s3 import CREDENTIALS, S3Server


@pytest.fixture(scope="module")
def gcs_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GcsServer]:
    with GcsServer(tmp_path_factory.mktemp("gcs")) as server:
        yield server


@pytest.fixture(scope="module")
def s3_server() -> Iterator[S3Server]:
    with S3Server() as server:
        yield server


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of this test only: neither of the user nor of a machine in a cloud."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, os.environ.get(name, value))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", f"{tmp_path}/none")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", f"{tmp_path}/credentials")
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)


@contextmanager
def _started(folder: Path, kind: RemoteKind) -> Iterator[TransferHarness]:
    bucket = f"bucket-{folder.name.replace('_', '-').lower()}"[:60].rstrip("-")
    kind.server.create_bucket(bucket)
    with FaultProxy(kind.server.port) as proxy, pytest.MonkeyPatch.context() as environment:
        environment.setenv("STORAGE_EMULATOR_HOST", proxy.url)
        harness = TransferHarness(folder, kind, proxy, bucket)
        yield harness
        proxy.plan = None
        harness.close()


@pytest.fixture
def gcs_harness(tmp_path: Path, gcs_server: GcsServer) -> Iterator[TransferHarness]:
    with _started(tmp_path, gcs_kind(gcs_server)) as harness:
        yield harness


@pytest.fixture
def s3_harness(tmp_path: Path, s3_server: S3Server) -> Iterator[TransferHarness]:
    with _started(tmp_path, s3_kind(s3_server)) as harness:
        yield harness


@pytest.fixture(params=["gcs", "s3"])
def harness(request: pytest.FixtureRequest) -> TransferHarness:
    """Each test runs with every kind of store."""
    found: TransferHarness = request.getfixturevalue(f"{request.param}_harness")
    return found
