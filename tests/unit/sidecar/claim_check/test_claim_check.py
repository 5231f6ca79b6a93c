import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sidecar.claim_check.claim_check import ClaimCheck, ClaimCheckSettings
from sidecar.delivery.delivery import Delivery
from sidecar.errors import AccessDeniedError
from sidecar.events import Message
from sidecar.metrics import DeliveryMetrics
from sidecar.store.base import StoreError, StoreStoppedError
from tests.support.segments.batches import UndatedBatch
from tests.support.servers.processes import DEADLINE_S, wait_until
from tests.support.sinks.memory_sink import MemorySink


class FakeStore:
    """Files in memory. It fails with `error`, and waits for `gate` before each answer."""

    address = "mem://store"

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.error: StoreError | None = None
        self.gate = threading.Event()
        self.gate.set()
        self.started = threading.Event()
        self.is_stopped = self.is_closed = False

    def put(self, file: Path) -> bool:
        self.started.set()
        self.gate.wait(DEADLINE_S)
        if self.is_stopped:
            raise StoreStoppedError
        if self.error is not None:
            raise self.error
        self.files[file.name] = file.read_bytes()
        return True

    def names(self) -> list[str]:
        return list(self.files)

    def get(self, name: str, target: Path) -> bool:
        raise NotImplementedError

    def remove(self, name: str) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        self.is_stopped = True
        self.gate.set()

    def close(self) -> None:
        self.is_closed = True


class LateStore(FakeStore):
    """A cancelled request ends when the next one has had time to begin."""

    def stop(self) -> None:
        threading.Timer(0.2, super().stop).start()


class Harness:
    def __init__(self, spool: Path) -> None:
        self.now_s = 0.0
        self.store = FakeStore()
        self.sink = MemorySink()
        self.spool = spool
        self.metrics = DeliveryMetrics("test", "1")
        self.opened: list[FakeStore] = []

    def delivery(self, *, waits_when_denied: bool = True) -> Delivery[str, int]:
        claims = ClaimCheck(
            "mem://store",
            self._open,
            ClaimCheckSettings(200, self.spool, waits_when_denied),
            metrics=self.metrics,
            clock=lambda: self.now_s,
        )
        found: Delivery[str, int] = Delivery(
            self.sink,
            100,
            1 << 20,
            metrics=self.metrics,
            clock=lambda: self.now_s,
            claim_check=claims,
        )
        found.open()
        return found

    def _open(self) -> FakeStore:
        self.opened.append(self.store)
        return self.store

    def figure(self, name: str) -> float | None:
        return self.metrics.registry.get_sample_value(name)


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    found = Harness(tmp_path / "spool")
    yield found
    found.store.gate.set()


def event(number: int, size: int = 1) -> Message:
    value = {"ts_ms": 1, "op": "i", "after": {"v": "x" * size}, "cells": {"n": number}}
    headers = [("cdc.id", bytes([number]) * 16), ("cdc.kind", b"row")]
    return "t", b"key", json.dumps(value, separators=(",", ":")).encode(), headers, 3


def add(delivery: Delivery[str, int], *messages: Message, start: int = 0) -> None:
    delivery.add("s", UndatedBatch(start, (1,) * len(messages), messages), start)


def until(delivery: Delivery[str, int], condition: Callable[[], bool]) -> None:
    def holds() -> bool:
        if condition():
            return True
        delivery.send()
        delivery.poll()
        return condition()

    wait_until(holds, "the delivery")


def test_reference_has_the_place_of_its_event(harness: Harness) -> None:
    delivery = harness.delivery()
    add(delivery, event(1), event(2, 5000), event(3))
    until(delivery, lambda: delivery.is_idle)
    sent = [message for _, message in harness.sink.messages]
    assert (sent[0], sent[2]) == (event(1), event(3))
    topic, key, value, headers, partition_hash = sent[1]
    assert (topic, key, partition_hash) == ("t", b"key", 3)
    assert json.loads(value or b"") == {"ts_ms": 1, "op": "i", "after": None, "cells": None}
    ((name, content),) = harness.store.files.items()
    checksum = hashlib.sha256(content).hexdigest()
    assert name == f"{'02' * 16}-{checksum}.json"
    assert json.loads(content) == {"after": {"v": "x" * 5000}, "cells": {"n": 2}}
    assert headers == [
        *event(2)[3],
        ("cdc.claim.check", f"mem://store/{name}".encode()),
        ("cdc.claim.size", str(len(content)).encode()),
        ("cdc.claim.sha256", checksum.encode()),
    ]
    assert list(harness.spool.iterdir()) == []
    assert harness.figure("cdc_claim_check_events_total") == 1
    assert harness.figure("cdc_claim_check_bytes_total") == len(content)
    assert [progress.position for progress in delivery.progress()] == [30]


def test_nothing_is_sent_before_the_object_is_stored(harness: Harness) -> None:
    harness.store.gate.clear()
    delivery = harness.delivery()
    add(delivery, event(1, 5000))
    add(delivery, event(2), start=10)
    assert not delivery.send()
    assert harness.store.started.wait(DEADLINE_S)
    assert not delivery.send()
    assert harness.sink.messages == []
    assert delivery.sink_state.healthy
    harness.now_s += 60
    assert delivery.sink_state.code == "claim_check_unavailable"
    assert "60 s" in delivery.sink_state.message
    harness.store.gate.set()
    until(delivery, lambda: delivery.is_idle)
    assert delivery.sink_state.healthy
    assert [message[1:2] for _, message in harness.sink.messages] == [(b"key",), (b"key",)]


@pytest.mark.parametrize("is_forbidden", [False, True])
def test_unusable_store_is_reported_and_retried(harness: Harness, is_forbidden: bool) -> None:
    harness.store.error = StoreError("broken", is_forbidden=is_forbidden)
    delivery = harness.delivery()
    add(delivery, event(1, 5000))
    until(delivery, lambda: not delivery.sink_state.healthy)
    state = delivery.sink_state
    assert state.code == f"claim_check_{'access_denied' if is_forbidden else 'unavailable'}"
    assert "wait for the store: broken" in state.message
    assert state.remedy
    assert harness.figure("cdc_claim_check_failures_total") == 1
    harness.store.error = None
    assert not delivery.send()
    assert harness.figure("cdc_claim_check_failures_total") == 1, "it pauses"
    harness.now_s += 60
    until(delivery, lambda: delivery.is_idle)
    assert delivery.sink_state.healthy


def test_denied_access_ends_an_agent_that_does_not_wait(harness: Harness) -> None:
    harness.store.error = StoreError("broken", is_forbidden=True)
    delivery = harness.delivery(waits_when_denied=False)
    add(delivery, event(1, 5000))
    with pytest.raises(AccessDeniedError, match="wait for the store: broken"):
        until(delivery, lambda: False)


def test_full_disk_of_the_spool_is_reported(harness: Harness) -> None:
    harness.spool.write_text("a file")
    delivery = harness.delivery()
    add(delivery, event(1, 5000))
    until(delivery, lambda: not delivery.sink_state.healthy)
    assert "spool" in delivery.sink_state.message


def test_restart_cancels_the_request_and_stores_the_event_again(harness: Harness) -> None:
    first = harness.store = LateStore()
    first.gate.clear()
    delivery = harness.delivery()
    add(delivery, event(1, 5000))
    delivery.send()
    assert first.started.wait(DEADLINE_S)
    delivery.close(0.0)
    delivery.forget()
    harness.store = FakeStore()
    delivery.open()
    add(delivery, event(1, 5000))
    until(delivery, lambda: delivery.is_idle)
    assert first.is_stopped
    assert first.files == {}
    assert list(harness.store.files) == [harness.sink.messages[0][1][3][2][1].decode()[12:]]


@pytest.mark.parametrize(
    ("key", "value"), [(b"k", b"\0" * 5000), (b"k" * 500, None)], ids=["no JSON", "tombstone"]
)
def test_value_that_is_no_json_object_is_sent_as_it_is(
    harness: Harness, key: bytes, value: bytes | None
) -> None:
    delivery = harness.delivery()
    message: Message = ("t", key, value, [("cdc.id", b"1" * 16)], 0)
    add(delivery, message)
    until(delivery, lambda: delivery.is_idle)
    assert [each for _, each in harness.sink.messages] == [message]
    assert harness.store.files == {}


def test_small_batches_are_not_examined(harness: Harness) -> None:
    delivery = harness.delivery()
    add(delivery, event(1))
    assert delivery.send()
    assert harness.opened == []


def test_event_without_an_id_is_named_by_its_content(harness: Harness) -> None:
    delivery = harness.delivery()
    add(delivery, (*event(1, 5000)[:3], [], 0))
    until(delivery, lambda: delivery.is_idle)
    ((name, content),) = harness.store.files.items()
    assert name == f"{hashlib.sha256(content).hexdigest()}.json"
