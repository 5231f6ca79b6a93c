"""Lines on a pipe: acknowledged once written, without blocking for long."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from itertools import chain

import pytest

from sidecar.errors import SinkError
from sidecar.events import NumberedBatch
from sidecar.sinks.base import DeliveryResult
from sidecar.sinks.stdout import StdoutSink
from tests.support.segments.batches import batch_of, message


def numbered(events: int, first: int = 0) -> NumberedBatch[str, int]:
    messages = [message("topic", first + index, 0, 500) for index in range(events)]
    return NumberedBatch("a", batch_of(messages), first)


@dataclass(frozen=True, slots=True)
class Pipe:
    """Each end closes once, since another thread may reuse the descriptor of a closed end."""

    reader: FileIO
    writer: FileIO

    def read(self) -> bytes:
        return os.read(self.reader.fileno(), 1 << 16)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    read, write = os.pipe()
    with FileIO(read) as reader, FileIO(write, "w") as writer:
        yield Pipe(reader, writer)


def test_stdout_sink_writes_and_acknowledges_events(pipe: Pipe) -> None:
    sink = StdoutSink(pipe.writer.fileno())
    sink.open()
    assert sink.send(numbered(10), 4, 1.0) == 6
    assert sink.poll(0) == DeliveryResult(acknowledged=(range(4, 10),))
    text = pipe.read().decode()
    assert [json.loads(line)["key"]["id"] for line in text.splitlines()] == [4, 5, 6, 7, 8, 9]
    assert sink.close(0) == DeliveryResult()


def test_slow_reader_throttles_stdout_sink_without_blocking(pipe: Pipe) -> None:
    sink = StdoutSink(pipe.writer.fileno())
    sink.open()
    batch = numbered(3000)
    taken, text = 0, b""
    acknowledged: list[int] = []
    assert sink.send(batch, 0, 0.01) == 1000
    assert sink.send(batch, 1000, 0.01) == 0
    assert sink.poll(0) == DeliveryResult()
    assert not sink.state().healthy
    taken = 1000
    while len(acknowledged) < 3000:
        text += pipe.read()
        if taken < 3000:
            taken += sink.send(batch, taken, 0)
        acknowledged += chain.from_iterable(sink.poll(0).acknowledged)
    pipe.writer.close()
    while block := pipe.read():
        text += block
    assert acknowledged == list(range(3000))
    assert text == batch.batch.ndjson(0, 3000)
    assert sink.state().healthy


def test_closed_pipe_ends_the_stdout_sink(pipe: Pipe) -> None:
    sink = StdoutSink(pipe.writer.fileno())
    sink.open()
    pipe.reader.close()
    with pytest.raises(SinkError, match="Broken pipe"):
        sink.send(numbered(1), 0, 1.0)
    assert sink.close(0) == DeliveryResult()
