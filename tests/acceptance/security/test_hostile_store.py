"""A hostile object store: names with paths, false sizes, other content."""

import base64
import json
from dataclasses import dataclass
from pathlib import Path

import google_crc32c
import pytest

from agent.cdc_raw.names import parse_log_name
from sidecar.store.base import RemoteDirectory, StoreError, StoreSettings
from sidecar.store.gcs import GcsStore
from tests.support.servers.answering import OK, Answering, answering
from tests.support.servers.processes import DEADLINE_S

NAME = "CommitLog-7-1.log"
CONTENT = b"a segment"
MIB = 1 << 20
TIB = 1 << 40


def checksum(content: bytes) -> str:
    return base64.b64encode(google_crc32c.value(content).to_bytes(4)).decode()


@dataclass
class Hostile:
    """Answers of the store."""

    claimed_bytes: int = len(CONTENT)
    body: bytes = CONTENT
    crc32c: str = checksum(CONTENT)
    names: tuple[str, ...] = ()
    is_endless: bool = False
    has_endless_json: bool = False
    has_endless_pages: bool = False
    downloads: int = 0

    def __call__(self, request: bytes) -> tuple[bytes, bytes]:
        body, forever = self._body(request.split()[1].decode())
        length = b"" if forever else b"Content-Length: %d\r\n" % len(body)
        head = b"Content-Type: application/json\r\nX-Goog-Hash: crc32c=%s\r\n"
        return OK + head % self.crc32c.encode() + length + b"\r\n" + body, forever

    def _body(self, path: str) -> tuple[bytes, bytes]:
        if self.has_endless_json:
            return b'{"items": [', b'{"name": "a"},' * (MIB // 14)
        if "alt=media" in path:
            self.downloads += 1
            return self.body, bytes(MIB) if self.is_endless else b""
        document: dict[str, object] = {"name": f"cdc/error/{NAME}", "bucket": "b"}
        document |= {"generation": "1", "size": str(self.claimed_bytes), "crc32c": self.crc32c}
        if "/o?" in path or path.endswith("/o"):
            document = {"items": [{"name": f"cdc/error/{name}"} for name in self.names]}
            document |= {"nextPageToken": "more"} if self.has_endless_pages else {}
        return json.dumps(document).encode(), b""


def store_of(server: Answering, monkeypatch: pytest.MonkeyPatch) -> GcsStore:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
    return GcsStore(RemoteDirectory("b", "cdc/error"), StoreSettings(timeout_s=DEADLINE_S))


def refused(hostile: Hostile, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Error of the failed download, which leaves no file."""
    with answering(hostile) as server:
        with pytest.raises(StoreError) as caught:
            store_of(server, monkeypatch).get(NAME, folder / NAME)
        # The socket buffers of both ends hold this much.
        assert server.forever_bytes < 64 * MIB
    assert list(folder.iterdir()) == []
    return str(caught.value)


def test_valid_object_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that the failures below have the reported reason."""
    with answering(Hostile()) as server:
        assert store_of(server, monkeypatch).get(NAME, tmp_path / NAME)
    assert [file.name for file in tmp_path.iterdir()] == [NAME]
    assert (tmp_path / NAME).read_bytes() == CONTENT


def test_object_larger_than_any_segment_is_not_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = Hostile(claimed_bytes=TIB)
    sentence = f"{NAME} has {TIB} bytes, more than any segment"
    assert sentence in refused(hostile, tmp_path, monkeypatch)
    assert hostile.downloads == 0


LONGER = CONTENT + b"."
MORE = "sends more bytes than the size"
ANOTHER = "the checksum of the fetched file differs from gs://b/cdc/error"


@pytest.mark.parametrize(
    ("hostile", "sentence"),
    [
        pytest.param(Hostile(is_endless=True), MORE, id="without end"),
        pytest.param(Hostile(body=LONGER, crc32c=checksum(LONGER)), MORE, id="longer"),
        pytest.param(Hostile(body=b""), ANOTHER, id="empty"),
        pytest.param(Hostile(body=CONTENT[:-1]), ANOTHER, id="shorter"),
        pytest.param(Hostile(body=b"another!!"), ANOTHER, id="another"),
    ],
)
def test_download_with_wrong_content_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hostile: Hostile, sentence: str
) -> None:
    assert sentence in refused(hostile, tmp_path, monkeypatch)


def test_object_names_outside_the_segment_format_are_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The store returns the names unchanged; each passes the strict parser before use."""
    foreign = (
        f"../{NAME}",
        f"/etc/{NAME}",
        f"{NAME}\0",
        f"{NAME}/../../x",
        f"CommitLog-7-{'9' * 5000}.log",
        "",
    )
    with answering(Hostile(names=(*foreign, NAME))) as server:
        listed = store_of(server, monkeypatch).names()
    assert set(foreign) | {NAME} == set(listed)
    names = [name for name in map(parse_log_name, listed) if name is not None]
    assert [name.log for name in names] == [NAME]


def test_endless_object_listing_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(Hostile(has_endless_json=True)) as server:
        store = store_of(server, monkeypatch)
        for ask in (store.names, lambda: store.get(NAME, tmp_path / NAME)):
            with pytest.raises(StoreError, match="exceeds 4 MiB"):
                ask()
        # The socket buffers of two connections hold this much.
        assert server.forever_bytes < 160 * MIB
    assert list(tmp_path.iterdir()) == []


def test_endless_listing_pages_are_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidecar.store.object_store.MAX_NAMES", 1000)
    with (
        answering(Hostile(names=(NAME,) * 300, has_endless_pages=True)) as server,
        pytest.raises(StoreError, match="lists more than 1000 objects"),
    ):
        store_of(server, monkeypatch).names()
