"""How segments leave `cdc_raw`: transferred when they are delivered, quarantined when not wholly.

Nothing leaves before its end is stored: a crash in between finds it finished in the ledger, and
takes it out unread.
"""

import logging
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from agent.cdc_raw import SegmentName
from agent.cdc_raw.names import is_temporary
from agent.metrics import KEPT, REFUSED_EVENT, TRANSFERRED, AgentMetrics
from agent.quarantine import LostRange, Quarantine, QuarantineUsage
from agent.quarantine.scanner import QuarantineScanner
from agent.snapshot.partition import SnapshotPartition
from agent.transfer import Backlog, Transfer, TransferDeferredError
from sidecar.delivery.delivery import RejectedEvent
from sidecar.logs import RateLimitedLog, fields

logger = logging.getLogger(__name__)

VANISHED_CAUSE = "the segment is gone from cdc_raw before it was read to its end"

EventSource = SegmentName | SnapshotPartition
"""Where events come from."""


class SegmentDisposer:
    """Takes segments out, and puts on record what could not be delivered. For one thread.

    Nothing here raises: what fails is said, shows in the errors, and is tried again by the caller.
    """

    def __init__(
        self,
        directory: Path,
        transfer: Transfer,
        quarantine: Quarantine,
        metrics: AgentMetrics,
    ) -> None:
        self._directory = directory
        self._transfer = transfer
        self._quarantine = quarantine
        self._metrics = metrics
        self._scanner = QuarantineScanner(quarantine, directory)
        self._usage = QuarantineUsage()
        self.has_changed_quarantine = False
        """True from a change by this agent to the next `usage()`."""
        self._repeated = RateLimitedLog(logger)
        self._errors: dict[str, str] = {}
        self._requeue_errors: dict[SegmentName, str] = {}
        self._stuck: dict[SegmentName, str] = {}

    @property
    def record_error(self) -> str:
        """Why nothing can be put on record, so that reading waits; empty where it can."""
        return " ".join(self._errors.values())

    @property
    def removal_error(self) -> str:
        """Why finished segments stay in `cdc_raw`; empty where none does."""
        return " ".join(self._stuck_sentences())

    @property
    def retry_error(self) -> str:
        """Why the oldest requested segment cannot be requeued; empty where none waits."""
        return self._requeue_errors[min(self._requeue_errors)] if self._requeue_errors else ""

    @property
    def backlog(self) -> Backlog | None:
        """What has left `cdc_raw` and is still under way; None where nothing ever is."""
        return self._transfer.backlog

    def usage(self) -> QuarantineUsage:
        """What the quarantine holds; what was last seen when it cannot be looked at."""
        self.has_changed_quarantine = False
        try:
            self._usage = self._scanner.scan()
        except OSError as error:
            # Without a condition the agent would look healthy whatever is quarantined.
            self._fail(
                "look",
                f"The quarantine {self._quarantine.directory} cannot be read: "
                f"{error.strerror or error}.",
            )
        else:
            self._mend("look")
        return self._usage

    def forget_others(self, present: Collection[SegmentName]) -> None:
        """Segments that are not `present` are gone: the node deletes them too."""
        for name in self._stuck.keys() - set(present):
            self._unstick(name)

    def record(self, name: SegmentName, ranges: Iterable[LostRange], reason: str) -> bool:
        """Puts ranges without events on record; False when that is not possible for now."""
        ranges = tuple(ranges)
        try:
            is_new = self._quarantine.record_ranges(name, ranges)
        except OSError as error:
            self._fail(
                f"record {reason}",
                f"The quarantine {self._quarantine.directory} cannot be "
                f"written, so reading waits: {error.strerror or error}.",
            )
            return False
        self._mend(f"record {reason}")
        if is_new:
            self.has_changed_quarantine = True
            for lost in ranges:
                logger.warning(
                    "part of a segment gave no events; it is on record in the quarantine",
                    extra=fields(segment=name, start=lost.start, end=lost.end, cause=lost.cause),
                )
            self._metrics.quarantined.labels(reason).inc(len(ranges))
        return True

    def nothing_to_record(self, reason: str) -> None:
        """A loss that could not be put on record is none any more, such as a segment that came
        back."""
        self._mend(f"record {reason}")

    def nothing_to_keep(self) -> None:
        """Refused events are read and sent again."""
        self._mend("keep")

    def keep(self, rejected: RejectedEvent[EventSource, int]) -> bool:
        """Keeps an event that the sink refuses, or without room for it its segment; False when
        neither is possible for now. A copied row has no segment: it waits for room."""
        letter, source = rejected.letter, rejected.source
        try:
            is_kept = self._quarantine.add_dead_letters(source, (letter,))
        except OSError as error:
            self._fail(
                "keep",
                f"The quarantine {self._quarantine.directory} cannot be written, "
                f"so a refused event waits: {error.strerror or error}.",
            )
            return False
        if not is_kept and isinstance(source, SnapshotPartition):
            self._fail(
                "keep",
                f"The quarantine {self._quarantine.directory} is full, so a refused event of the "
                f"{source} waits: remove what is settled, or raise quarantine.max.bytes.",
            )
            return False
        self._mend("keep")
        if not is_kept and isinstance(source, SegmentName):
            cause = f"the sink refused an event that has no room here: {rejected.reason}"
            lost = LostRange(rejected.start, rejected.end, cause)
            return self.record(source, (lost,), REFUSED_EVENT)
        self.has_changed_quarantine = True
        logger.warning(
            "the sink refused an event; it is kept in the quarantine",
            extra=fields(source=source, topic=letter.topic, reason=rejected.reason),
        )
        self._metrics.quarantined.labels(REFUSED_EVENT).inc()
        return True

    def requests(self) -> dict[SegmentName, bool] | None:
        """Quarantined segments that are to be read again, and whether each is in the quarantine;
        None when it cannot be read."""
        try:
            requests = self._quarantine.retry_requests()
        except OSError as error:
            self._fail(
                "requests",
                f"{self._quarantine.directory} cannot be read, so requests for retry wait: "
                f"{_cause(error)}. Make the directory readable for the agent.",
            )
            return None
        self._mend("requests")
        # Somebody settled a segment in another way: nothing of it is tried again.
        for name in self._requeue_errors.keys() - requests.keys():
            del self._requeue_errors[name]
        return requests

    def requeue(self, name: SegmentName) -> bool:
        """Moves a quarantined segment back into `cdc_raw`; False when it is not there, or that is
        not possible for now."""
        try:
            is_back = self._quarantine.requeue(name, self._directory)
        except OSError as error:
            message = (
                f"{name} cannot be moved from the quarantine to {self._directory} and is tried "
                f"again: {_cause(error)}. See that the directory has room and can be written."
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
        """Forgets the request for a segment that the quarantine does not have."""
        with suppress(OSError):
            self._quarantine.cancel_request(name, self._directory)

    def remove_temporaries(self) -> None:
        """Removes copies in `cdc_raw` that a kill left unfinished: they would keep a full disk
        full."""
        with suppress(OSError):
            for file in self._directory.iterdir():
                if is_temporary(file.name):
                    file.unlink(missing_ok=True)

    def leave(self, name: SegmentName) -> bool:
        """Takes a finished segment out; False when it stays for now."""
        log, idx = self._directory / name.log, self._directory / name.idx
        try:
            # A segment that came back was read to its end.
            if self._quarantine.withdraw_ranges(name, VANISHED_CAUSE):
                self.has_changed_quarantine = True
            reason = self._quarantine.reason(name)
            if reason is None or not reason.ranges:
                self._transfer.transfer(log, idx)
                way = TRANSFERRED
            elif self._quarantine.add_segment(name, log, idx):
                way = KEPT
                self.has_changed_quarantine = True
            else:
                self._stick(
                    name,
                    f"{name} stays in cdc_raw, because the quarantine "
                    f"{self._quarantine.directory} is full: look at the reasons there and "
                    "remove what is settled, or raise quarantine.max.bytes.",
                )
                return False
        except TransferDeferredError as error:
            self._stick(name, f"{name} stays in cdc_raw: {error}.")
            return False
        except OSError as error:
            self._stick(name, f"{name} cannot leave cdc_raw and is tried again: {_cause(error)}.")
            return False
        self._unstick(name)
        self._metrics.segments_finished.labels(way).inc()
        logger.info("segment finished", extra=fields(segment=name, way=way))
        return True

    def _stuck_sentences(self) -> Iterator[str]:
        """What keeps one segment mostly keeps those behind it, so one stands for all."""
        if self._stuck:
            yield self._stuck[min(self._stuck)]
        if len(self._stuck) > 1:
            yield f"{len(self._stuck)} finished segments are in cdc_raw in all."

    def _stick(self, name: SegmentName, sentence: str) -> None:
        self._stuck[name] = sentence
        self._repeated.log("leave", sentence, segments=len(self._stuck))

    def _unstick(self, name: SegmentName) -> None:
        if self._stuck.pop(name, None) is not None and not self._stuck:
            self._repeated.resolved("leave", "Finished segments leave cdc_raw again.")

    def _fail(self, key: str, sentence: str) -> None:
        self._errors[key] = sentence
        self._repeated.log(key, sentence)

    def _mend(self, key: str) -> None:
        if self._errors.pop(key, None) is not None:
            self._repeated.resolved(key, "The quarantine can be written again.")


def _cause(error: OSError) -> str:
    """With both names, where there are two: the place that is full or forbidden is the second."""
    names = [str(name) for name in (error.filename, error.filename2) if name is not None]
    reason = error.strerror or str(error)
    return f"{' to '.join(names)}: {reason}" if names else reason
