"""Lines on a pipe: acknowledged once the pipe has them, and never blocking for long."""

import json
import os
from collections.abc import Iterator
from itertools import chain

import pytest

from sidecar.delivery import Numbered
from sidecar.errors import SinkError
from sidecar.sinks.base import Outcome
from sidecar.sinks.stdout import StdoutSink
from tests.sidecar.batches import batch_of, message


def numbered(events: int, first: int = 0) -> Numbered[str, int]:
    messages = [message("topic", first + index, 0, 500) for index in range(events)]
    return Numbered("a", batch_of(messages), first)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    for descriptor in (read, write):
        try:
            os.close(descriptor)
        except OSError:
            continue


def test_events_are_written_and_acknowledged(pipe: tuple[int, int]) -> None:
    read, write = pipe
    sink = StdoutSink(write)
    sink.open()
    assert sink.send(numbered(10), 4, 1.0) == 6
    assert sink.poll(0) == Outcome(acknowledged=(range(4, 10),))
    text = os.read(read, 1 << 16).decode()
    assert [json.loads(line)["key"]["id"] for line in text.splitlines()] == [4, 5, 6, 7, 8, 9]
    assert sink.close(0) == Outcome()


def test_a_slow_reader_holds_the_sink_back_without_blocking_it(pipe: tuple[int, int]) -> None:
    read, write = pipe
    sink = StdoutSink(write)
    sink.open()
    batch = numbered(3000)
    taken, text = 0, b""
    acknowledged: list[int] = []
    assert sink.send(batch, 0, 0.01) == 1000
    assert sink.send(batch, 1000, 0.01) == 0
    assert sink.poll(0) == Outcome()
    assert not sink.state().healthy
    taken = 1000
    while len(acknowledged) < 3000:
        text += os.read(read, 1 << 16)
        if taken < 3000:
            taken += sink.send(batch, taken, 0)
        acknowledged += chain.from_iterable(sink.poll(0).acknowledged)
    os.close(write)
    while block := os.read(read, 1 << 16):
        text += block
    assert acknowledged == list(range(3000))
    assert text == batch.batch.ndjson(0, 3000)
    assert sink.state().healthy


def test_a_reader_that_is_gone_ends_it(pipe: tuple[int, int]) -> None:
    read, write = pipe
    sink = StdoutSink(write)
    sink.open()
    os.close(read)
    with pytest.raises(SinkError, match="Broken pipe"):
        sink.send(numbered(1), 0, 1.0)
    assert sink.close(0) == Outcome()
