"""The sink that tests use."""

import pytest

from sidecar.errors import SinkRestartError
from sidecar.events import NumberedBatch
from sidecar.sinks.base import DeliveryResult, FailedEvent
from tests.support.segments.batches import ListBatch
from tests.support.sinks.memory_sink import MemorySink


def numbered(events: int, first: int = 0) -> NumberedBatch[str, int]:
    return NumberedBatch("a", ListBatch(0, (1,) * events), first)


def test_events_are_kept_with_their_numbers() -> None:
    sink = MemorySink()
    sink.open()
    assert sink.send(numbered(3, first=7), 1, 1.0) == 2
    assert [number for number, _ in sink.messages] == [8, 9]
    assert [message[0] for _, message in sink.messages] == ["topic", "topic"]
    assert sink.poll(0) == DeliveryResult(acknowledged=(range(8, 10),))
    assert sink.poll(0) == DeliveryResult()


def test_acknowledgement_in_any_order() -> None:
    sink = MemorySink(automatic=False)
    sink.open()
    sink.send(numbered(4), 0, 1.0)
    assert sink.poll(0) == DeliveryResult()
    sink.acknowledge([2])
    sink.fail(1, "too large")
    assert sink.poll(0) == DeliveryResult((range(2, 3),), (FailedEvent(1, "too large"),))
    sink.acknowledge()
    assert sink.close(0) == DeliveryResult((range(1), range(3, 4)))


def test_a_full_sink_takes_nothing() -> None:
    sink = MemorySink(automatic=False, capacity=3)
    sink.open()
    assert sink.send(numbered(5), 0, 1.0) == 3
    assert sink.send(numbered(5), 3, 1.0) == 0
    sink.acknowledge([0])
    assert sink.send(numbered(5), 3, 1.0) == 1


def test_faults_on_demand() -> None:
    sink = MemorySink()
    sink.open()
    sink.go_away("nobody answers")
    assert (sink.send(numbered(1), 0, 1.0), sink.state().healthy) == (0, False)
    sink.come_back()
    assert sink.send(numbered(1), 0, 1.0) == 1
    sink.raise_next(SinkRestartError("start again"))
    with pytest.raises(SinkRestartError):
        sink.poll(0)
    assert sink.close(0) == DeliveryResult((range(1),))
    sink.open()
    assert sink.poll(0) == DeliveryResult()
