"""Sends a watermark at each interval.

A cycle probes the node, scans `cdc_raw`, waits until everything synced at the scan is acknowledged,
and sends the watermark. The node was running during the probe. So at the scan it had synced
everything that it logged up to one sync lag before the probe. If a cycle takes longer than the
interval, the agent sends the previous watermark with the cause, and continues.
"""

from collections.abc import Iterator

from agent.cdc_raw.observation import Observation
from agent.pipeline.context import PipelineContext
from agent.pipeline.steps.intake import RequeueStep
from agent.watermark.coverage import Barrier, Coverage, barrier_at, begun
from agent.watermark.message import WATERMARK, Obstacle, WatermarkParts
from agent.watermark.node_probe import NodeProbe
from sidecar.errors import SidecarError
from sidecar.quantities import size_text


class WatermarkStep:
    """Runs the cycles. Only for the pipeline's thread."""

    def __init__(
        self, context: PipelineContext, parts: WatermarkParts, requeue: RequeueStep
    ) -> None:
        """Loads the stored coverage; raises the errors of loading."""
        self._context = context
        self._requeue = requeue
        self.error = ""
        """Why the latest probe of the node failed; empty if it succeeded."""
        self._parts = parts
        self._interval_s = parts.sender.interval_ms / 1000
        self._coverage = parts.store.load()
        self._probe: NodeProbe | None = None
        self._next_s = context.clock()
        self._is_probing = False
        self._scan_after: Observation | None = None
        self._barrier: Barrier | None = None
        self._sent_number = 0

    @property
    def due_in_s(self) -> float:
        return max(0.0, self._next_s - self._context.clock())

    def tick(self) -> bool:
        """Continues the cycle; returns True if it made progress."""
        is_due = self.due_in_s == 0.0
        if is_due:
            self._next_s = self._context.clock() + self._interval_s
        if not self._is_probing and self._scan_after is None and self._barrier is None:
            if is_due:
                self._is_probing = True
                self._parts.probes.request()
            return is_due
        before = self._is_probing, self._scan_after
        is_done = self._advance()
        if is_done or is_due:
            self._send()
        return is_done or before != (self._is_probing, self._scan_after)

    def rewind(self) -> None:
        """Drops the barrier, which does not cover the events that are read again."""
        self._scan_after = self._barrier = None

    def _advance(self) -> bool:
        """Takes the next steps of the cycle; returns True at its end."""
        context = self._context
        if self._is_probing and not self._take_probe():
            return not self._is_probing
        if self._scan_after is not None:
            if context.scanner.last is self._scan_after:
                return False
            self._scan_after = None
            self._barrier = barrier_at(context.segments)
            if self._coverage is None and self._probe is not None:
                self._cover(begun(self._parts.now_ms(), self._probe))
        if self._barrier is None:
            return False
        if any(self._losses()):
            # The barrier does not cover lost changes, which a retry can still deliver.
            self._barrier = None
            return True
        if not self._barrier.is_reached(context.segments):
            return False
        self._barrier = None
        if self._coverage is not None and self._probe is not None:
            until_ms = self._probe.asked_at_ms - self._probe.sync_lag_ms
            self._cover(self._coverage.reached(until_ms))
        return True

    def _take_probe(self) -> bool:
        """Takes the node's answers and requests a scan; returns False if the probe is running or
        has failed."""
        context, result = self._context, self._parts.probes.take()
        if result is None:
            return False
        self._is_probing = False
        if isinstance(result, SidecarError):
            self.error = str(result)
            return False
        self.error = ""
        self._probe = result
        if self._coverage is not None:
            self._cover(self._coverage.answered(result))
        self._scan_after = context.scanner.last
        context.scanner.request()
        return True

    def _cover(self, coverage: Coverage) -> None:
        if coverage != self._coverage:
            self._coverage = coverage
            self._parts.store.save(coverage)
        self._context.metrics.watermark.set(coverage.until_ms / 1000)

    def _send(self) -> None:
        """Sends one message at a time, so that none accumulate while the broker is unavailable."""
        context, parts = self._context, self._parts
        if not context.delivery.is_open or context.delivery.window.watermark < self._sent_number:
            return
        batch = parts.sender.batch(
            parts.now_ms(), self._coverage, self._probe, tuple(self._obstacles())
        )
        context.delivery.add(WATERMARK, batch, 0, is_plain=True)
        self._sent_number = context.delivery.window.next_number
        context.metrics.watermarks.inc()

    def _obstacles(self) -> Iterator[Obstacle]:
        """Yields the reasons why the watermark cannot advance now."""
        context = self._context
        if self.error:
            yield Obstacle("node_unavailable", self.error)
        yield from self._losses()
        if context.scanner.error:
            yield Obstacle("cdc_raw_unreadable", context.scanner.error)
        obstacle = context.blocked_read.obstacle
        if obstacle is not None:
            yield Obstacle("segment_blocked", f"{obstacle.name.log}: {obstacle.message}")
        if self._barrier is not None and obstacle is None:
            waiting = size_text(context.segments.readable_bytes)
            yield Obstacle("not_delivered", f"{waiting} of the log are not delivered yet")

    def _losses(self) -> Iterator[Obstacle]:
        """Yields changes missing from the topics until an operator retries or discards them."""
        context = self._context
        disposer, usage = context.disposer, context.disposer.last_usage
        if usage.segments or disposer.has_changed_quarantine or self._requeue.names:
            names = (*usage.available_names, *usage.missing_names, *usage.dead_letter_names)
            text = ", ".join(dict.fromkeys(names)) or "a segment"
            yield Obstacle("segment_quarantined", f"the quarantine contains {text}")
        if context.delivery.rejected:
            yield Obstacle("event_rejected", "the sink rejected an event")
        if disposer.record_error:
            yield Obstacle("quarantine_not_writable", disposer.record_error)
