"""How segments leave `cdc_raw`: transferred when fully delivered, quarantined otherwise.

The end of a segment is stored first. After a crash in between, the agent finds the segment
completed in its offsets and removes it unread.
"""

import logging
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from agent.cdc_raw.names import SegmentFiles, SegmentName, is_temporary
from agent.metrics import DELIVERED, QUARANTINED, REJECTED_EVENT, AgentMetrics
from agent.pipeline.schema_changes import SchemaStart
from agent.quarantine.files import LostRange
from agent.quarantine.quarantine import Quarantine
from agent.quarantine.scanner import QuarantineScanner, QuarantineUsage
from agent.snapshot.plan import SnapshotPartition
from agent.transfer.transfer import Backlog, Transfer, TransferDeferredError
from agent.watermark.message import WatermarkSource
from sidecar.dead_letters.dead_letter import RETRY_S, RecordingErrors, full, not_writable
from sidecar.delivery.delivery import RejectedEvent
from sidecar.logs import RateLimitedLog, fields

logger = logging.getLogger(__name__)

VANISHED_CAUSE = "the segment is gone from cdc_raw before it was read to its end"

EventSource = SegmentName | SnapshotPartition | SchemaStart | WatermarkSource
"""The origin of events."""


class SegmentDisposer:
    """Removes finished segments and records what could not be delivered. For one thread.

    Nothing here raises: a failure is logged, appears in the errors, and the caller tries again.
    """

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
        self._transfer = transfer
        self._quarantine = quarantine
        self._metrics = metrics
        self._scanner = QuarantineScanner(quarantine, directory)
        self.last_usage = QuarantineUsage()
        """The result of the last `usage()`."""
        self.has_changed_quarantine = False
        """True from a change by this agent to the next `usage()`."""
        self._repeated = RateLimitedLog(logger)
        self._errors = RecordingErrors(logger)
        self._requeue_errors: dict[SegmentName, str] = {}
        self._remaining: dict[SegmentName, str] = {}
        self._clock = clock
        self._record_at_s = clock()

    @property
    def record_in_s(self) -> float:
        """Seconds until the next attempt to write to the quarantine; 0 unless the last one failed
        just now."""
        return max(0.0, self._record_at_s - self._clock())

    @property
    def can_record(self) -> bool:
        """False for a moment after the quarantine could not be written."""
        return not self.record_in_s

    @property
    def record_error(self) -> str:
        """Why the quarantine takes no records, so that reading waits; empty while it does."""
        return self._errors.message

    @property
    def removal_error(self) -> str:
        """Why finished segments stay in `cdc_raw`; empty where none does."""
        return " ".join(self._removal_messages())

    @property
    def retry_error(self) -> str:
        """Why the oldest requested segment cannot be requeued; empty where none waits."""
        return self._requeue_errors[min(self._requeue_errors)] if self._requeue_errors else ""

    @property
    def backlog(self) -> Backlog | None:
        """Segments between `cdc_raw` and the remote store; None without one."""
        return self._transfer.backlog

    def usage(self) -> QuarantineUsage:
        """What the quarantine holds; the last known usage while it cannot be read."""
        self.has_changed_quarantine = False
        try:
            self.last_usage = self._scanner.scan()
        except OSError as error:
            # Without a condition the agent would look healthy whatever is quarantined.
            self._errors.report(
                "look",
                f"The quarantine {self._quarantine.directory} cannot be read: "
                f"{error.strerror or error}.",
            )
        else:
            self._errors.resolve("look")
        return self.last_usage

    def forget_others(self, present: Container[SegmentName]) -> None:
        """Forgets errors of segments that are not `present`: the node deletes segments too."""
        for name in tuple(self._remaining):
            if name not in present:
                self._note_removal(name)

    def record(self, name: SegmentName, ranges: Iterable[LostRange], reason: str) -> bool:
        """Records ranges that yielded no events; False when that is not possible for now."""
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
        """The loss that could not be recorded is undone, such as a segment that came back."""
        self._errors.resolve(f"record {reason}")

    def resolve_dead_letters(self) -> None:
        """Rejected events are read and sent again."""
        self._errors.resolve("keep")

    def keep_dead_letter(self, rejected: RejectedEvent[EventSource, int]) -> bool:
        """Keeps a rejected event, or its segment without room for the event; False when neither is
        possible for now. A row of a snapshot has no segment: it waits for room."""
        letter, source = rejected.letter, rejected.source
        try:
            is_kept = self._quarantine.add_dead_letters(source, (letter,))
        except OSError as error:
            message = not_writable(self._quarantine.directory, error, "a rejected event waits")
            return self._fail("keep", message)
        if not is_kept and not isinstance(source, SegmentName):
            message = full(self._quarantine.directory, f"a rejected event of the {source} waits")
            return self._fail("keep", message)
        self._errors.resolve("keep")
        if not is_kept and isinstance(source, SegmentName):
            cause = f"the sink rejected an event that has no room here: {rejected.reason}"
            lost = LostRange(rejected.start, rejected.end, cause)
            return self.record(source, (lost,), REJECTED_EVENT)
        self.has_changed_quarantine = True
        logger.warning(
            "the sink rejected an event; it is stored whole as a dead letter",
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
        """Quarantined segments with a request for retry, and whether their files are there; None
        when it cannot be read."""
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
        # Requests that are gone were withdrawn.
        for name in self._requeue_errors.keys() - requests.keys():
            del self._requeue_errors[name]
        return requests

    def requeue(self, name: SegmentName) -> bool:
        """Moves a quarantined segment back into `cdc_raw`; False when it is gone, or when that is
        not possible for now."""
        try:
            is_back = self._quarantine.requeue(name, self._directory)
        except OSError as error:
            message = (
                f"{name} cannot be moved from the quarantine to {self._directory}: "
                f"{_cause(error)}. The agent retries. Free space there, or let its user write."
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
            self._quarantine.cancel_request(name, self._directory)

    def remove_temporaries(self) -> None:
        """Removes unfinished copies in `cdc_raw` after a kill: they would keep a full disk full."""
        with suppress(OSError):
            for file in self._directory.iterdir():
                if is_temporary(file.name):
                    file.unlink(missing_ok=True)

    def dispose(self, name: SegmentName) -> bool:
        """Removes a finished segment from `cdc_raw`; False when it stays for now."""
        log, idx = SegmentFiles(self._directory, name)
        try:
            # A segment that came back has been read to its end.
            if self._quarantine.withdraw_ranges(name, VANISHED_CAUSE):
                self.has_changed_quarantine = True
            reason = self._quarantine.reason(name)
            if reason is None or not reason.ranges:
                self._transfer.transfer(log, idx)
                disposition = DELIVERED
            elif self._quarantine.add_segment(name, log, idx):
                disposition = QUARANTINED
                self.has_changed_quarantine = True
            else:
                self._keep_segment(
                    name,
                    f"{name} stays in cdc_raw, because the quarantine "
                    f"{self._quarantine.directory} is full. Discard entries that are "
                    "settled, or raise quarantine.max.bytes.",
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
        """Reports that the quarantine took no record; the next attempt waits."""
        self._errors.report(key, message)
        self._record_at_s = self._clock() + RETRY_S
        return False

    def _removal_messages(self) -> Iterator[str]:
        """One message for all: they mostly have one cause."""
        if self._remaining:
            yield next(iter(self._remaining.values()))
        if len(self._remaining) > 1:
            yield f"{len(self._remaining)} finished segments are in cdc_raw in all."

    def _keep_segment(self, name: SegmentName, message: str) -> None:
        self._remaining[name] = message
        self._repeated.log("dispose", message, segments=len(self._remaining))

    def _note_removal(self, name: SegmentName) -> None:
        if self._remaining.pop(name, None) is not None and not self._remaining:
            self._repeated.resolved("dispose", "Finished segments leave cdc_raw again.")


def _cause(error: OSError) -> str:
    """With both paths, where there are two: the second is full or forbidden."""
    names = [str(name) for name in (error.filename, error.filename2) if name is not None]
    reason = error.strerror or str(error)
    return f"{' to '.join(names)}: {reason}" if names else reason
