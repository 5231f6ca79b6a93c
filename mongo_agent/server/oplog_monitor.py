"""Watches what goes wrong slowly: the oplog that overtakes the position, a majority that is lost.

Without a majority a change stream stands still and says nothing: its tokens do not move, though a
primary writes an empty entry every ten seconds when nothing else is written. And a position that
the oplog has passed cannot be read on from, which is too late to learn by an error.
"""

import logging
import math
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from mongo_agent.change_stream.tokens import ClusterTime
from mongo_agent.metrics import MongoMetrics
from mongo_agent.server.elections import ElectionCounter
from sidecar.logs import RateLimitedLog
from sidecar.runtime.worker import Worker

logger = logging.getLogger(__name__)

_LONGEST_INTERVAL_S = 10.0
_LOOKS_IN_A_LIMIT = 4
_FIGURES = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class WarningThresholds:
    """When to warn; 0 never."""

    headroom_ms: int
    stall_ms: int
    lag_ms: int

    @property
    def interval_s(self) -> float:
        """How often to look, so that what is shorter than usual is seen in its time."""
        limits_s = [each / 1000 for each in (self.stall_ms, self.lag_ms) if each]
        return min([_LONGEST_INTERVAL_S, *(each / _LOOKS_IN_A_LIMIT for each in limits_s)])


@dataclass(frozen=True, slots=True)
class StreamTimes:
    """Cluster times of one stream: of what is stored, and of what is read. `moved_at_s` is when the
    latter was seen to move."""

    stored: ClusterTime
    read: ClusterTime
    moved_at_s: float


@dataclass(frozen=True, slots=True)
class StreamLag:
    """Of one stream. `headroom_s` is None where the oplog may not be read."""

    headroom_s: int | None
    stalled_s: float
    behind_s: float


def stream_lag(
    times: StreamTimes, oldest: ClusterTime | None, now_s: float, wall_s: float
) -> StreamLag:
    """`now_s` is of the clock of `moved_at_s`, `wall_s` in seconds since 1970."""
    headroom_s = None if oldest is None else times.stored.second - oldest.second
    return StreamLag(headroom_s, now_s - times.moved_at_s, max(0.0, wall_s - times.read.second))


@dataclass(frozen=True, slots=True)
class StreamWarning:
    """What a person should know about a stream: clauses that can stand in one sentence."""

    code: str
    message: str
    remedy: str

    @property
    def sentence(self) -> str:
        """Both together."""
        return f"{self.message}: {self.remedy}"


def stream_warning(findings: StreamLag, warnings: WarningThresholds) -> StreamWarning | None:
    """The worst; None where all is well."""
    headroom_s, behind_s = findings.headroom_s, findings.behind_s
    if headroom_s is not None and headroom_s < 0 and warnings.headroom_ms:
        return StreamWarning(
            "oplog_overtaken",
            f"the oplog begins {-headroom_s} s behind the stored position, so a restart before "
            "events are delivered would lose changes",
            "see that the sink takes them, make the oplog larger (`replSetResizeOplog`), and see "
            "`history.lost.policy`",
        )
    if warnings.stall_ms and findings.stalled_s * 1000 > warnings.stall_ms:
        return StreamWarning(
            "stream_stalled",
            f"the stream has not moved for {findings.stalled_s:.0f} s, as without a majority of "
            "the members",
            "see `rs.status()`, and whether the sink takes events",
        )
    # In a young oplog the oldest entry is near as well, and stays where it is.
    near_s = min(behind_s, warnings.headroom_ms / 1000)
    if headroom_s is not None and headroom_s < near_s and warnings.headroom_ms:
        return StreamWarning(
            "oplog_headroom_short",
            f"the oldest entry of the oplog is only {headroom_s} s older than the position",
            "see that events are delivered, or make the oplog larger (`replSetResizeOplog`)",
        )
    if warnings.lag_ms and behind_s * 1000 > warnings.lag_ms:
        return StreamWarning(
            "stream_behind",
            f"the stream is {behind_s:.0f} s behind the present and catches up",
            "if it stays so, the sink or this machine is too slow",
        )
    return None


def warning_text(findings: StreamLag, warnings: WarningThresholds) -> str:
    """One sentence that says what to do, or nothing."""
    worst = stream_warning(findings, warnings)
    return "" if worst is None else worst.sentence


class OplogMonitor:
    """Looks every `Warnings.interval_s` on a thread of its own. The other methods may be called by
    any."""

    def __init__(
        self,
        oldest_entry: Callable[[], ClusterTime | None],
        times: Callable[[], Mapping[str, tuple[ClusterTime, ClusterTime]]],
        warnings: WarningThresholds,
        elections: ElectionCounter,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`times` gives what is stored and what is read, by stream; `clock` gives seconds."""
        self._oldest_entry = oldest_entry
        self._times = times
        self._warnings = warnings
        self._elections = elections
        self._clock = clock
        self._seen: dict[str, StreamTimes] = {}
        self._findings: Mapping[str, StreamLag] = {}
        self._repeated = RateLimitedLog(logger)
        self._said: dict[str, str] = {}
        self._worker = Worker("oplog-monitor", self._run)

    def __enter__(self) -> "OplogMonitor":
        self._worker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.stop()

    def look(self) -> None:
        """One look."""
        now_s, wall_s = self._clock(), time.time()
        oldest = self._oldest_entry()
        for stream, (stored, read) in self._times().items():
            last = self._seen.get(stream)
            if last is None or read > last.read:
                self._seen[stream] = StreamTimes(stored, read, now_s)
            else:
                self._seen[stream] = replace(last, stored=stored)
        self._findings = {
            stream: stream_lag(times, oldest, now_s, wall_s) for stream, times in self._seen.items()
        }
        for stream in self._findings:
            self._say(stream, self.warning_text(stream))

    def _say(self, stream: str, sentence: str) -> None:
        """Each kind of trouble is said at once, though another one was said before."""
        last, kind = self._said.get(stream, ""), _FIGURES.sub("", sentence)
        if kind:
            self._repeated.log(f"{stream}: {kind}", sentence)
        elif last:
            self._repeated.resolved(f"{stream}: {last}", "The stream is well again.")
        self._said[stream] = kind

    def warning(self, stream: str) -> StreamWarning | None:
        """What a person should know about a stream; None where all is well."""
        findings = self._findings.get(stream)
        return None if findings is None else stream_warning(findings, self._warnings)

    def warning_text(self, stream: str) -> str:
        """What a person should know about a stream; empty where all is well."""
        findings = self._findings.get(stream)
        return "" if findings is None else warning_text(findings, self._warnings)

    def details(self, stream: str) -> dict[str, object]:
        """The same in figures."""
        findings = self._findings.get(stream)
        elections = {"elections": self._elections.count}
        if findings is None:
            return {**elections}
        return {
            "oplog_headroom_s": findings.headroom_s,
            "stalled_s": round(findings.stalled_s, 3),
            **elections,
        }

    def set_gauges(self, metrics: MongoMetrics) -> None:
        metrics.count_up_to(metrics.elections, self._elections.count)
        for stream, findings in self._findings.items():
            headroom_s = findings.headroom_s
            metrics.oplog_headroom_seconds.labels(stream).set(
                math.nan if headroom_s is None else headroom_s
            )
            metrics.stream_age_seconds.labels(stream).set(findings.behind_s)

    def _run(self, stopped: threading.Event) -> None:
        while not stopped.wait(self._warnings.interval_s):
            self.look()
