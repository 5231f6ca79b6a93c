"""Uploads of segments to Google Cloud Storage and to S3: chunks, checksums, keys, properties."""

import base64
import json
import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from sidecar.errors import ConfigError
from sidecar.store.base import RemoteDirectory, StoreSettings
from sidecar.store.gcs import GcsStore
from tests.integration.stores.harness import (
    CHUNK,
    FIRST,
    LARGE,
    SMALL,
    TransferHarness,
    completes,
    is_second_chunk,
    once,
    small_put,
)
from tests.support.servers.fault_proxy import Fault, Seen
from tests.support.servers.s3 import S3Server

pytestmark = pytest.mark.servers
on_gcs = pytest.mark.parametrize("harness", ["gcs"], indirect=True)
on_s3 = pytest.mark.parametrize("harness", ["s3"], indirect=True)


@on_gcs
@pytest.mark.parametrize("fault", [Fault(cut=True), Fault(status=503), Fault(status=429)])
def test_interrupted_upload_resumes(harness: TransferHarness, fault: Fault) -> None:
    harness.proxy.plan = once(fault, is_second_chunk)
    harness.start()
    harness.give(1, LARGE)
    harness.wait_until_sent()
    ranges = [seen.content_range.split("-")[0] for seen in harness.proxy.seen if seen.is_chunk]
    assert ranges == ["bytes 0", f"bytes {CHUNK}", f"bytes {CHUNK}", f"bytes {2 * CHUNK}"]


@on_gcs
def test_lost_answer_to_last_chunk_causes_no_resend(
    harness: TransferHarness,
) -> None:
    harness.proxy.plan = once(
        Fault(swallow=True), lambda seen: seen.content_range.startswith(f"bytes {2 * CHUNK}-")
    )
    harness.start()
    harness.give(1, LARGE)
    harness.wait_until_sent()
    begun = [seen for seen in harness.proxy.seen if seen.is_upload and not seen.is_chunk]
    assert len(begun) == 2, "the segment and its index"


@on_gcs
@pytest.mark.parametrize("content", [LARGE, SMALL], ids=["large", "small"])
def test_checksum_mismatch_keeps_the_segment_local(
    harness: TransferHarness, content: bytes
) -> None:
    def lie(answer: bytes) -> bytes:
        document = json.loads(answer or "{}")
        if "crc32c" not in document:
            return answer
        document["crc32c"] = base64.b64encode(b"\0\0\0\1").decode()
        return json.dumps(document).encode()

    harness.proxy.plan = lambda seen: Fault(rewrite=lie) if seen.is_upload else None
    harness.start()
    harness.give(1, content)
    assert "differs from the sent file" in harness.wait_for_error("checksum")
    assert harness.is_here(content)
    harness.proxy.plan = None
    harness.wait_until_sent()


def service_account(token_uri: str) -> dict[str, str]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return {
        "type": "service_account",
        "project_id": "p",
        "private_key_id": "1",
        "private_key": pem.decode(),
        "client_email": "cdc@p.iam.gserviceaccount.com",
        "token_uri": token_uri,
    }


@on_gcs
def test_rejected_gcs_key_is_reported(harness: TransferHarness, tmp_path: Path) -> None:
    """The token URL comes from the account's key."""
    file = tmp_path / "key.json"
    file.write_text(json.dumps(service_account(f"{harness.proxy.url}/token")))
    harness.proxy.plan = lambda seen: Fault(status=401) if seen.path == "/token" else None
    harness.start(key_file=file)
    harness.give(1, SMALL)
    assert str(file) in harness.wait_for_error("Google rejects the key")
    assert "/token" in {seen.path for seen in harness.proxy.seen}


@on_gcs
def test_missing_gcs_key_is_reported_until_restored(
    harness: TransferHarness, tmp_path: Path
) -> None:
    file = tmp_path / "key.json"
    text = json.dumps(service_account(f"{harness.proxy.url}/token"))
    file.write_text(text)
    harness.start(key_file=file)
    file.unlink()
    harness.give(1, SMALL)
    assert str(file) in harness.wait_for_error("storage.credential.key.file")
    assert harness.backlog_segments == 1
    file.write_text(text)
    harness.wait_for_error("Google rejects the key")


@pytest.mark.parametrize(
    ("content", "part"),
    [(None, "cannot be read"), ("{", "is not valid JSON"), ('{"type": "x"}', "service account")],
)
def test_invalid_gcs_key_file_is_a_config_error(
    tmp_path: Path, content: str | None, part: str
) -> None:
    file = tmp_path / "key.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigError, match=part) as raised:
        GcsStore(RemoteDirectory("b", ""), StoreSettings(file))
    assert str(file) in str(raised.value)


@on_s3
@pytest.mark.parametrize("content", [LARGE, SMALL], ids=["large", "small"])
def test_stored_object_with_other_content_keeps_segment_local(
    harness: TransferHarness, content: bytes
) -> None:
    """The server stores less than it confirms."""
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


@on_s3
def test_missing_s3_credentials_are_reported_until_found(
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


@on_s3
@pytest.mark.parametrize("conditional_writes", [True, False])
def test_s3_objects_have_the_configured_properties(
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
