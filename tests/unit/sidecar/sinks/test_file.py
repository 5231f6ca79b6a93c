"""Lines in a file: complete, synced before acknowledgement, and valid after a crash."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.errors import ConfigError, LockedError, SinkRestartError
from sidecar.events import NumberedBatch
from sidecar.sinks.base import DeliveryResult
from sidecar.sinks.file import FileSink
from tests.support.segments.batches import batch_of, message


def numbered(events: int, first: int = 0) -> NumberedBatch[str, int]:
    messages = [message("topic", first + index, 0) for index in range(events)]
    return NumberedBatch("a", batch_of(messages), first)


def lines(path: Path) -> list[int]:
    return [json.loads(line)["key"]["id"] for line in path.read_text().splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "events.ndjson"


@pytest.fixture
def sink(path: Path) -> Iterator[FileSink]:
    sink = FileSink(path)
    sink.open()
    yield sink
    sink.close(0)


def test_file_sink_appends_and_acknowledges_events(sink: FileSink, path: Path) -> None:
    assert sink.send(numbered(3), 1, 1.0) == 2
    assert sink.send(numbered(2, first=3), 0, 1.0) == 2
    assert sink.poll(0) == DeliveryResult(acknowledged=(range(1, 3), range(3, 5)))
    assert sink.poll(0) == DeliveryResult()
    assert lines(path) == [1, 2, 3, 4]
    assert sink.state().healthy


def test_file_sink_syncs_before_acknowledging(
    sink: FileSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    sink.send(numbered(3), 0, 1.0)
    assert synced == []
    assert sink.poll(0).acknowledged == (range(3),)
    assert len(synced) == 1


def test_file_sink_close_acknowledges_and_reopen_appends(path: Path) -> None:
    sink = FileSink(path)
    for first in (0, 2):
        sink.open()
        sink.send(numbered(2, first=first), 0, 1.0)
        assert sink.close(0) == DeliveryResult(acknowledged=(range(first, first + 2),))
    assert lines(path) == [0, 1, 2, 3]


@pytest.mark.parametrize("torn", [b"{", b'{"key":', b"x" * 200_000])
@pytest.mark.parametrize("whole", [0, 3])
def test_torn_last_line_is_truncated_at_open(path: Path, torn: bytes, whole: int) -> None:
    path.parent.mkdir()
    path.write_bytes(numbered(whole).batch.ndjson(0, whole) + torn)
    sink = FileSink(path)
    sink.open()
    sink.send(numbered(1, first=whole), 0, 1.0)
    sink.close(0)
    assert lines(path) == list(range(whole + 1))


def test_file_sink_waits_for_free_disk_space(
    sink: FileSink, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink.send(numbered(2), 0, 1.0)
    original = os.write

    def nearly_full(descriptor: int, data: bytes) -> int:
        """Write ten bytes, then fail."""
        if len(data) <= 10:
            return original(descriptor, data)
        original(descriptor, data[:10])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", nearly_full)
        assert sink.send(numbered(2, first=2), 0, 1.0) == 0
        assert "No space left on device" in sink.state().message
        assert not sink.state().healthy
        assert sink.poll(0).acknowledged == (range(2),)
    assert lines(path) == [0, 1]
    assert sink.send(numbered(2, first=2), 0, 1.0) == 2
    assert sink.state().healthy
    assert sink.poll(0).acknowledged == (range(2, 4),)
    assert lines(path) == [0, 1, 2, 3]


def test_failed_sync_restarts_the_file_sink(
    sink: FileSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    sink.send(numbered(1), 0, 1.0)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", broken)
        with pytest.raises(SinkRestartError, match="Input/output error"):
            sink.poll(0)
        assert sink.close(0) == DeliveryResult()
    sink.open()
    sink.send(numbered(1), 0, 1.0)
    assert sink.poll(0).acknowledged == (range(1),)


def test_two_sinks_cannot_write_one_file(sink: FileSink, path: Path) -> None:
    with pytest.raises(LockedError, match=str(path)):
        FileSink(path).open()


def test_unwritable_file_path_is_a_config_error(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match=r"file\.path.*Is a directory"):
        FileSink(tmp_path / "folder").open()
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"events\.ndjson \(file\.path\) cannot be written"):
        FileSink(tmp_path / "file" / "events.ndjson").open()
