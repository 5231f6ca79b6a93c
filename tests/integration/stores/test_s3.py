"""How segments are sent to S3: checks, credentials, properties of objects."""

import os
from pathlib import Path

import pytest

from tests.integration.stores.harness import (
    FIRST,
    LARGE,
    SMALL,
    TransferHarness,
    completes,
    small_put,
)
from tests.support.servers.fault_proxy import Fault, Seen
from tests.support.servers.s3 import S3Server

pytestmark = [pytest.mark.servers, pytest.mark.parametrize("harness", ["s3"], indirect=True)]


@pytest.mark.parametrize("content", [LARGE, SMALL], ids=["large", "small"])
def test_stored_object_with_other_content_keeps_the_segment_here(
    harness: TransferHarness, content: bytes
) -> None:
    """A server that stores less than it confirms."""
    uploads_done: list[str] = []

    def plan(seen: Seen) -> Fault | None:
        if completes(seen) or small_put(seen):
            uploads_done.append(seen.path)
        elif uploads_done and seen.method == "HEAD" and seen.path.endswith("1.log"):
            return Fault(before=lambda: harness.put(FIRST, content[:-1]))
        return None

    harness.proxy.plan = plan
    harness.start()
    harness.give(1, content)
    harness.wait_for_error("has a different CommitLog-7-1.log")
    assert harness.is_here(content)


def test_missing_credentials_are_named_and_found_later(
    harness: TransferHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {name: os.environ[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
    for name in keys:
        monkeypatch.delenv(name)
    harness.start()
    harness.give(1, SMALL)
    harness.wait_for_error("No credentials for S3")
    lines = [f"{key.lower()} = {value}" for key, value in keys.items()]
    file = Path(os.environ["AWS_SHARED_CREDENTIALS_FILE"])
    file.write_text("\n".join(["[default]", *lines]))
    harness.wait_until_sent()


@pytest.mark.parametrize("conditional_writes", [True, False])
def test_objects_have_the_configured_properties(
    harness: TransferHarness, s3_server: S3Server, conditional_writes: bool
) -> None:
    harness.start(
        encryption="aws:kms",
        kms_key_id="key-1",
        storage_class="STANDARD_IA",
        conditional_writes=conditional_writes,
    )
    names = [harness.give(1, LARGE), harness.give(2, SMALL)]
    harness.wait_until_sent()
    for name in names:
        facts = s3_server.facts(harness.bucket, name)
        assert facts["ServerSideEncryption"] == "aws:kms"
        assert "key-1" in facts["SSEKMSKeyId"]
        assert facts["StorageClass"] == "STANDARD_IA"
        assert len(facts["Metadata"]["sha256"]) == 64
