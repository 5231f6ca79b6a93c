import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from botocore.loaders import create_loader
from botocore.retries.standard import ExponentialBackoff

from tests.integration.stores.harness import RemoteKind, TransferHarness, gcs_kind, s3_kind
from tests.support.servers.fault_proxy import FaultProxy
from tests.support.servers.gcs import GcsServer
from tests.support.servers.s3 import CREDENTIALS, S3Server

_shared_loader = cache(create_loader)


@pytest.fixture(scope="package")
def gcs_server() -> Iterator[GcsServer]:
    with GcsServer() as server:
        yield server


@pytest.fixture(scope="package")
def s3_server() -> Iterator[S3Server]:
    with S3Server() as server:
        yield server


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Credentials of this test, never those of the user or of a cloud machine."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, os.environ.get(name, value))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", f"{tmp_path}/none")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", f"{tmp_path}/credentials")
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def quick_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """S3's client reads its large description once, and retries requests without a pause."""
    monkeypatch.setattr("botocore.session.create_loader", _shared_loader)
    monkeypatch.setattr(ExponentialBackoff, "delay_amount", lambda self, context: 0.01)
    # No test stops the server.
    monkeypatch.setattr("os.fsync", lambda fd: None)


def _kind(name: str, request: pytest.FixtureRequest) -> RemoteKind:
    server = request.getfixturevalue(f"{name}_server")
    return gcs_kind(server) if name == "gcs" else s3_kind(server)


@pytest.fixture
def bucket(tmp_path: Path) -> str:
    """Name that no other test uses."""
    return f"bucket-{tmp_path.name.replace('_', '-').lower()}"[:60].rstrip("-")


@pytest.fixture(params=["gcs", "s3"])
def harness(
    request: pytest.FixtureRequest, tmp_path: Path, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[TransferHarness]:
    """Each test runs with every kind of store, unless it selects one."""
    kind = _kind(request.param, request)
    kind.server.create_bucket(bucket)
    with FaultProxy(kind.server.port) as proxy:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
        harness = TransferHarness(tmp_path, kind, proxy, bucket)
        yield harness
        proxy.plan = None
        harness.close()
