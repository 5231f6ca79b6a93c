import base64
import hashlib
from pathlib import Path

import pytest

from sidecar.store.s3 import encoded, md5_of, read_checksums


@pytest.mark.parametrize("content", [b"", b"a", bytes(range(256)) * 10_000])
def test_checksums_match_the_file_content(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "f"
    file.write_bytes(content)
    sums = read_checksums(file)
    assert sums.size_bytes == len(content)
    assert sums.sha256 == hashlib.sha256(content).hexdigest()
    assert sums.md5 == hashlib.md5(content).hexdigest() == md5_of(content)


def test_digest_is_encoded_in_base64_for_header() -> None:
    digest = hashlib.md5(b"a").digest()
    assert encoded(digest.hex()) == base64.b64encode(digest).decode()


def test_checksums_of_symbolic_link_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "l").symlink_to("/etc/passwd")
    with pytest.raises(OSError, match="l"):
        read_checksums(tmp_path / "l")
