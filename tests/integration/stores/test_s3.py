"""How segments are sent to S3: parts, conditions, credentials, properties of objects."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.stores.harness import (
    FIRST,
    LARGE,
    SMALL,
    TransferHarness,
    is_second_part,
    once,
)
from tests.support.servers.fault_proxy import Fault, Seen
from tests.support.servers.s3 import S3Server, refusal

pytestmark = pytest.mark.servers


@pytest.fixture
def harness(s3_harness: TransferHarness) -> TransferHarness:
    return s3_harness


def completes(seen: Seen) -> bool:
    return seen.method == "POST" and "uploadId=" in seen.path


def small_put(seen: Seen) -> bool:
    return seen.method == "PUT" and seen.path.endswith(".log")


@pytest.mark.parametrize(
    ("fault", "which"),
    [
        (Fault(cut=True), is_second_part),
        (refusal(503, "SlowDown"), small_put),
        (Fault(swallow=True), completes),
        (Fault(swallow=True), small_put),
    ],
    ids=["cut", "slow down", "lost response", "lost response of a small object"],
)
def test_interrupted_request_is_repeated(
    harness: TransferHarness, fault: Fault, which: Callable[[Seen], bool]
) -> None:
    harness.proxy.plan = once(fault, which)
    harness.start()
    names = {harness.give(1, LARGE): LARGE, harness.give(2, SMALL): SMALL}
    harness.wait_until_sent()
    for name, content in names.items():
        assert harness.content(name) == content


@pytest.mark.parametrize("content", [LARGE, SMALL], ids=["large", "small"])
def test_stored_object_with_other_content_keeps_the_segment_here(
    harness: TransferHarness, content: bytes
) -> None:
    """A server that stores less than it confirms."""

    def spoil() -> None:
        harness.put(FIRST, content[:-1])

    uploads_done: list[str] = []

    def plan(seen: Seen) -> Fault | None:
        if completes(seen) or small_put(seen):
            uploads_done.append(seen.path)
        elif uploads_done and seen.method == "HEAD" and seen.path.endswith("1.log"):
            return Fault(before=spoil)
        return None

    harness.proxy.plan = plan
    harness.start()
    harness.give(1, content)
    harness.wait_for_error("has a different CommitLog-7-1.log")
    assert (harness.upload / "CommitLog-7-1.log").read_bytes() == content


def test_missing_credentials_are_named_and_found_later(
    harness: TransferHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {name: os.environ[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
    for name in keys:
        monkeypatch.delenv(name)
    harness.start()
    name = harness.give(1, SMALL)
    harness.wait_for_error("No credentials for S3")
    file = Path(os.environ["AWS_SHARED_CREDENTIALS_FILE"])
    lines = [f"{key.lower()} = {value}" for key, value in keys.items()]
    for key, value in keys.items():
        monkeypatch.setenv(key, value)
    file.write_text("\n".join(["[default]", *lines]))
    harness.wait_until_sent()
    assert harness.content(name) == SMALL


@pytest.mark.parametrize(
    ("which", "content"), [(completes, LARGE), (small_put, SMALL)], ids=["large", "small"]
)
def test_object_created_during_the_upload_is_not_overwritten(
    harness: TransferHarness, which: Callable[[Seen], bool], content: bytes
) -> None:
    harness.proxy.plan = once(Fault(before=lambda: harness.put(FIRST, b"faster")), which)
    harness.start()
    harness.give(1, content)
    harness.wait_for_error("has a different CommitLog-7-1.log")
    assert harness.content(FIRST) == b"faster"
    assert harness.kind.unfinished(harness.bucket) == []


def test_objects_have_the_configured_properties(
    harness: TransferHarness, s3_server: S3Server
) -> None:
    harness.start(encryption="aws:kms", kms_key_id="key-1", storage_class="STANDARD_IA")
    names = [harness.give(1, LARGE), harness.give(2, SMALL)]
    harness.wait_until_sent()
    for name in names:
        facts = s3_server.facts(harness.bucket, name)
        assert facts["ServerSideEncryption"] == "aws:kms"
        assert "key-1" in facts["SSEKMSKeyId"]
        assert facts["StorageClass"] == "STANDARD_IA"
        assert len(facts["Metadata"]["sha256"]) == 64


def test_server_without_conditional_writes_is_usable(harness: TransferHarness) -> None:
    harness.start(conditional_writes=False)
    names = {harness.give(1, LARGE): LARGE, harness.give(2, SMALL): SMALL}
    harness.wait_until_sent()
    for name, content in names.items():
        assert harness.content(name) == content
