"""The reported sink state is correct before opening, while open, after lost events or denied
access, and after closing."""

from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from sidecar.delivery.delivery import Delivery
from sidecar.delivery.sink_driver import SinkDriver
from sidecar.errors import AccessDeniedError, SinkRestartError
from sidecar.metrics import DeliveryMetrics
from sidecar.status.facts import ServiceFacts, undelivered
from tests.support.segments.batches import UndatedBatch, message
from tests.support.sinks.memory_sink import MemorySink

Step = Literal["tick", "deliver", "restart", "denied", "close"]
STEPS = st.lists(st.sampled_from(["tick", "deliver", "restart", "denied", "close"]), max_size=8)
HEALTHY = ""
# Expected text of the condition after the last step that changed the sink.
TRUE = {
    "start": "not open yet",
    "open": HEALTHY,
    "restart": "delivery restarts after a pause: events were lost",
    "denied": "no right to write",
    "close": "the agent is stopping and has closed the sink",
}


@given(STEPS)
def test_sink_state_is_correct_after_every_step(steps: list[Step]) -> None:
    now_s = 0.0
    metrics = DeliveryMetrics("agent", "1")
    delivery: Delivery[str, int] = Delivery(
        MemorySink(), 100, 1 << 20, metrics=metrics, clock=lambda: now_s
    )
    driver = SinkDriver(delivery, metrics=metrics, clock=lambda: now_s)
    state, count = "start", 0
    for step in steps:
        now_s += 100
        match step:
            case "tick":
                driver.tick(may_read=True, may_open=True)
                state = "open"
            case "deliver" if delivery.is_open:
                delivery.add("a", UndatedBatch(count, (1,), (message("t", 0, count),)), count)
                count += 1
                driver.tick(may_read=True, may_open=True)
            case "restart":
                driver.end(SinkRestartError("events were lost"))
                delivery.forget()
                state = "restart"
            case "denied":
                driver.end(AccessDeniedError("no right to write"))
                delivery.forget()
                state = "denied"
            case "close":
                driver.close(0.0)
                state = "close"
        facts = ServiceFacts(sink=delivery.sink_state)
        found = [each.message for each in undelivered(facts, subject="tables", check="check")]
        assert len(found) == (state != "open")
        assert all(TRUE[state] in each for each in found)
