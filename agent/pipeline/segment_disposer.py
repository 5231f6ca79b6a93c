"""Removes segments from `cdc_raw`: transfers delivered segments, and quarantines all others.

The agent stores a segment as completed before it removes the segment. After a crash in between, it
finds the segment completed in its offsets and removes it without reading it again.
"""

import logging
from collections.abc import Callable, Container, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from agent.cdc_raw.names import SegmentFiles, SegmentName, is_temporary
from agent.metrics import DELIVERED, QUARANTINED, REJECTED_EVENT, AgentMetrics
from agent.quarantine.files import LostRange
from agent.quarantine.quarantine import Quarantine
from agent.quarantine.requeue import cancel_request
from agent.quarantine.scanner import QuarantineScanner, QuarantineUsage
from agent.snapshot.plan import SnapshotPartition
from agent.transfer.transfer import Transfer, TransferDeferredError
from agent.watermark.message import PlainSource
from sidecar.dead_letters.dead_letter import (
    RETRY_S,
    RecordingErrors,
    RejectedEvent,
    full,
    not_writable,
)
from sidecar.logs import RateLimitedLog, fields

logger = logging.getLogger(__name__)

VANISHED_CAUSE = "the segment is gone from cdc_raw before it was read to its end"

EventSource = SegmentName | SnapshotPartition | PlainSource


class SegmentDisposer:
    """Removes finished segments and records undelivered changes. Not thread-safe.

    Methods never raise: they log a failure and report it in the error properties, and the caller
    retries."""

    def __init__(
        self,
        directory: Path,
        transfer: Transfer,
        quarantine: Quarantine,
        metrics: AgentMetrics,
        *,
        clock: Callable[[], float],
    ) -> None:
        """`clock` returns seconds."""
        self._directory = directory
        self.transfer = transfer
        self._quarantine = quarantine
        self._metrics = metrics
        self._scanner = QuarantineScanner(quarantine, directory)
        self.last_usage = QuarantineUsage()
        """The result of the latest `usage()`."""
        self.has_changed_quarantine = False
        """True if this agent has changed the quarantine since the latest `usage()`."""
        self._repeated = RateLimitedLog(logger)
        self._errors = RecordingErrors(logger)
        self._requeue_errors: dict[SegmentName, str] = {}
        self._remaining: dict[SegmentName, str] = {}
        self._clock = clock
        self._record_at_s = clock()

    @property
    def record_in_s(self) -> float:
        """Seconds until the next attempt to write to the quarantine; 0 unless a write has just
        failed."""
        return max(0.0, self._record_at_s - self._clock())

    @property
    def can_record(self) -> bool:
        """False for a moment after a write to the quarantine failed."""
        return not self.record_in_s

    @property
    def record_error(self) -> str:
        """Why the quarantine is not writable, so that reading waits; empty if it is writable."""
        return self._errors.message

    @property
    def removal_error(self) -> str:
        """Why finished segments stay in `cdc_raw`; empty if none stays."""
        count = len(self._remaining)
        # One message stands for all segments, because they usually share a cause.
        first = next(iter(self._remaining.values()), "")
        total = f" In total, {count} finished segments are in cdc_raw." if count > 1 else ""
        return first + total

    @property
    def retry_error(self) -> str:
        """Why the oldest requested segment cannot be requeued; empty if no requeue failed."""
        return self._requeue_errors[min(self._requeue_errors)] if self._requeue_errors else ""

    def usage(self) -> QuarantineUsage:
        """Scans the quarantine; returns the latest known usage if it cannot be read."""
        self.has_changed_quarantine = False
        try:
            self.last_usage = self._scanner.scan()
        except OSError as error:
            # Without this error, quarantined segments would stay unnoticed.
            self._errors.report(
                "look",
                f"The quarantine {self._quarantine.directory} cannot be read: "
                f"{error.strerror or error}.",
            )
        else:
            self._errors.resolve("look")
        return self.last_usage

    def forget_others(self, present: Container[SegmentName]) -> None:
        """Forgets errors of segments that are not `present`, because the node deletes some too."""
        for name in tuple(self._remaining):
            if name not in present:
                self._note_removal(name)

    def record(self, name: SegmentName, ranges: Iterable[LostRange], reason: str) -> bool:
        """Records ranges that yielded no events; returns False if the caller must retry."""
        ranges = tuple(ranges)
        try:
            is_new = self._quarantine.record_ranges(name, ranges)
        except OSError as error:
            message = not_writable(self._quarantine.directory, error, "reading waits")
            return self._fail(f"record {reason}", message)
        self._errors.resolve(f"record {reason}")
        if is_new:
            self.has_changed_quarantine = True
            for lost in ranges:
                logger.warning(
                    "part of a segment could not be decoded; recorded in the quarantine",
                    extra=fields(segment=name, start=lost.start, end=lost.end, cause=lost.cause),
                )
            self._metrics.quarantined.labels(reason).inc(len(ranges))
        return True

    def resolve_loss(self, reason: str) -> None:
        """Clears the error about a loss that is undone, such as a segment that came back."""
        self._errors.resolve(f"record {reason}")

    def resolve_dead_letters(self) -> None:
        """Clears the error about dead letters, because their events are read and sent again."""
        self._errors.resolve("keep")

    def keep_dead_letter(self, rejected: RejectedEvent[EventSource, int]) -> bool:
        """Stores a rejected event, or its range if the event does not fit; returns False if the
        caller must retry. A snapshot row has no segment, so it waits for free space."""
        letter, source = rejected.letter, rejected.source
        try:
            is_kept = self._quarantine.add_dead_letter(source.log, letter)
        except OSError as error:
            message = not_writable(self._quarantine.directory, error, "a rejected event waits")
            return self._fail("keep", message)
        if not is_kept and not isinstance(source, SegmentName):
            message = full(self._quarantine.directory, f"a rejected event of the {source} waits")
            return self._fail("keep", message)
        self._errors.resolve("keep")
        if not is_kept and isinstance(source, SegmentName):
            cause = f"the sink rejected an event that does not fit here: {rejected.reason}"
            lost = LostRange(rejected.start, rejected.end, cause)
            return self.record(source, (lost,), REJECTED_EVENT)
        self.has_changed_quarantine = True
        logger.warning(
            "the sink rejected an event; the agent stored it as a dead letter",
            extra=fields(
                source=source,
                topic=letter.topic,
                reason=rejected.reason,
                directory=str(self._quarantine.directory),
            ),
        )
        self._metrics.quarantined.labels(REJECTED_EVENT).inc()
        return True

    def requests(self) -> dict[SegmentName, bool] | None:
        """Returns requested retries, and whether the segments' files are present; None if the
        quarantine cannot be read."""
        try:
            requests = self._quarantine.retry_requests()
        except OSError as error:
            self._errors.report(
                "requests",
                f"{self._quarantine.directory} cannot be read, so requests for retry wait: "
                f"{_cause(error)}. Make the directory readable for the agent.",
            )
            return None
        self._errors.resolve("requests")
        # Missing requests were withdrawn.
        for name in self._requeue_errors.keys() - requests.keys():
            del self._requeue_errors[name]
        return requests

    def requeue(self, name: SegmentName) -> bool:
        """Moves a quarantined segment back into `cdc_raw`; returns False if the segment is gone or
        the caller must retry."""
        try:
            is_back = self._quarantine.requeue(name, self._directory)
        except OSError as error:
            message = (
                f"{name} cannot be moved from the quarantine to {self._directory}: "
                f"{_cause(error)}. The agent retries. Free space there, or make it writable."
            )
            self._requeue_errors[name] = message
            self._repeated.log("requeue", message, segments=len(self._requeue_errors))
            return False
        if self._requeue_errors.pop(name, None) is not None and not self._requeue_errors:
            self._repeated.resolved("requeue", "Quarantined segments can be requeued again.")
        if is_back:
            self.has_changed_quarantine = True
            logger.info("a quarantined segment is requeued", extra=fields(segment=name))
        return is_back

    def end_request(self, name: SegmentName) -> None:
        """Forgets the request for a segment that the quarantine does not contain."""
        with suppress(OSError):
            cancel_request(self._quarantine.directory, name, self._directory)

    def remove_temporaries(self) -> None:
        """Removes unfinished copies that a killed agent left: they would keep a full disk full."""
        with suppress(OSError):
            for file in self._directory.iterdir():
                if is_temporary(file.name):
                    file.unlink(missing_ok=True)

    def dispose(self, name: SegmentName) -> bool:
        """Removes a finished segment from `cdc_raw`; returns False if it stays for now."""
        log, idx = SegmentFiles(self._directory, name)
        try:
            # The segment may have returned; now it has been read to its end.
            if self._quarantine.withdraw_ranges(name, VANISHED_CAUSE):
                self.has_changed_quarantine = True
            reason = self._quarantine.reason(name)
            if reason is None or not reason.ranges:
                self.transfer.transfer(log, idx)
                disposition = DELIVERED
            elif self._quarantine.add_segment(name, log, idx):
                disposition = QUARANTINED
                self.has_changed_quarantine = True
            else:
                self._keep_segment(
                    name,
                    f"{name} stays in cdc_raw, because the quarantine "
                    f"{self._quarantine.directory} is full. Discard resolved entries, or "
                    "raise quarantine.max.bytes.",
                )
                return False
        except TransferDeferredError as error:
            self._keep_segment(name, f"{name} stays in cdc_raw: {error}.")
            return False
        except OSError as error:
            self._keep_segment(
                name, f"{name} cannot leave cdc_raw; the agent retries: {_cause(error)}."
            )
            return False
        self._note_removal(name)
        self._metrics.segments_finished.labels(disposition).inc()
        logger.info("segment finished", extra=fields(segment=name, disposition=disposition))
        return True

    def _fail(self, key: str, message: str) -> Literal[False]:
        """Reports a failed write to the quarantine, and delays the next attempt."""
        self._errors.report(key, message)
        self._record_at_s = self._clock() + RETRY_S
        return False

    def _keep_segment(self, name: SegmentName, message: str) -> None:
        self._remaining[name] = message
        self._repeated.log("dispose", message, segments=len(self._remaining))

    def _note_removal(self, name: SegmentName) -> None:
        if self._remaining.pop(name, None) is not None and not self._remaining:
            self._repeated.resolved("dispose", "Finished segments leave cdc_raw again.")


def _cause(error: OSError) -> str:
    """Formats an error with both paths, because the second may be full or not writable."""
    names = [str(name) for name in (error.filename, error.filename2) if name is not None]
    reason = error.strerror or str(error)
    return f"{' to '.join(names)}: {reason}" if names else reason
