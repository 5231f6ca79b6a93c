"""Monitors for elections and gradual failures: an oplog that overtakes the offset, a lost majority.

Without a majority, a change stream stalls without an error: its tokens stop advancing, although an
idle primary writes a no-op every ten seconds. A stream cannot resume from an offset older than the
oplog, so the agent warns before the oplog overtakes the offset.
"""

import logging
import math
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from pymongo import monitoring

from mongo_agent.documents import ClusterTime
from mongo_agent.metrics import MongoMetrics
from sidecar.logs import RateLimitedLog, fields
from sidecar.process.lifecycle import Worker
from sidecar.quantities import duration_text

logger = logging.getLogger(__name__)

_PRIMARY = "RSPrimary"
_LONGEST_INTERVAL_S = 10.0
_CHECKS_PER_LIMIT = 4
_DIGITS = re.compile(r"\d+")


class ElectionCounter(monitoring.TopologyListener):
    """Counts in `count` how often a different member becomes primary. Any thread may read it."""

    def __init__(self) -> None:
        self.count = 0
        self._primary: tuple[str, int | None] | None = None

    def opened(self, event: monitoring.TopologyOpenedEvent) -> None:
        """Required by the listener interface."""

    def description_changed(self, event: monitoring.TopologyDescriptionChangedEvent) -> None:
        servers = event.new_description.server_descriptions()
        for address, server in servers.items():
            if server.server_type_name != _PRIMARY or address == self._primary:
                continue
            if self._primary is not None:
                self.count += 1
                logger.info(
                    "another member became primary",
                    extra=fields(
                        primary=_text(address), before=_text(self._primary), elections=self.count
                    ),
                )
            self._primary = address

    def closed(self, event: monitoring.TopologyClosedEvent) -> None:
        """Required by the listener interface."""


def _text(address: tuple[str, int | None]) -> str:
    host, port = address
    return host if port is None else f"{host}:{port}"


@dataclass(frozen=True, slots=True)
class WarningThresholds:
    """Thresholds of warnings; 0 disables a warning."""

    headroom_ms: int
    stall_ms: int
    lag_ms: int

    @property
    def interval_s(self) -> float:
        """The interval between checks, short enough for short thresholds."""
        limits_s = [each / 1000 for each in (self.stall_ms, self.lag_ms) if each]
        return min([_LONGEST_INTERVAL_S, *(each / _CHECKS_PER_LIMIT for each in limits_s)])


@dataclass(frozen=True, slots=True)
class StreamTimes:
    """The stored and the last read cluster time of one stream.

    `moved_at_s` is the time at which the monitor last saw the read time advance.
    """

    stored: ClusterTime
    read: ClusterTime
    moved_at_s: float


@dataclass(frozen=True, slots=True)
class StreamLag:
    """The lag of one stream. `headroom_s` is None without read access to the oplog."""

    headroom_s: int | None
    stalled_s: float
    behind_s: float


def stream_lag(
    times: StreamTimes, oldest: ClusterTime | None, now_s: float, wall_s: float
) -> StreamLag:
    """Compute the lag. `now_s` uses the clock of `moved_at_s`, `wall_s` counts from 1970."""
    headroom_s = None if oldest is None else times.stored.second - oldest.second
    return StreamLag(headroom_s, now_s - times.moved_at_s, max(0.0, wall_s - times.read.second))


@dataclass(frozen=True, slots=True)
class StreamWarning:
    """A warning about a stream: two clauses that form one sentence."""

    code: str
    message: str
    remedy: str

    @property
    def sentence(self) -> str:
        return f"{self.message}: {self.remedy}"


def is_headroom_low(headroom_s: float, behind_s: float, warning_ms: int) -> bool:
    """Whether the oldest entry of the oplog is close to an offset that is `behind_s` old."""
    # The oldest entry of a new oplog is recent, too, and does not move.
    return warning_ms > 0 and headroom_s < min(behind_s, warning_ms / 1000)


def stream_warning(findings: StreamLag, warnings: WarningThresholds) -> StreamWarning | None:
    """Return the most severe warning, or None."""
    headroom_s, behind_s = findings.headroom_s, findings.behind_s
    if headroom_s is not None and headroom_s < 0 and warnings.headroom_ms:
        return StreamWarning(
            "offset_before_oplog_start",
            f"the oplog starts {-headroom_s} s after the stored offset, so a restart before the "
            "events are delivered would lose changes",
            "check the sink, enlarge the oplog (`replSetResizeOplog`) and see "
            "`history.lost.policy`",
        )
    if warnings.stall_ms and findings.stalled_s * 1000 > warnings.stall_ms:
        return StreamWarning(
            "stream_stalled",
            f"the stream has not advanced for {duration_text(findings.stalled_s)}, as happens "
            "without a majority of members",
            "check `rs.status()` and the sink",
        )
    if headroom_s is not None and is_headroom_low(headroom_s, behind_s, warnings.headroom_ms):
        return StreamWarning(
            "oplog_headroom_low",
            f"the oldest entry of the oplog is only {headroom_s} s older than the stored offset",
            "check that events are delivered, or enlarge the oplog (`replSetResizeOplog`)",
        )
    if warnings.lag_ms and behind_s * 1000 > warnings.lag_ms:
        return StreamWarning(
            "stream_lagging",
            f"the stream is {duration_text(behind_s)} behind and catching up",
            "if the lag persists, the sink or this machine is too slow",
        )
    return None


class OplogMonitor(Worker):
    """Checks the streams on its own thread. Any thread may call the other methods."""

    def __init__(
        self,
        oldest_entry: Callable[[], ClusterTime | None],
        times: Callable[[], Mapping[str, tuple[ClusterTime, ClusterTime]]],
        warnings: WarningThresholds,
        elections: ElectionCounter,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`times` returns the stored and the read cluster time by stream; `clock` is in seconds."""
        super().__init__("oplog-monitor", self._run)
        self._oldest_entry = oldest_entry
        self._times = times
        self._warnings = warnings
        self._elections = elections
        self._clock = clock
        self._seen: dict[str, StreamTimes] = {}
        self._findings: Mapping[str, StreamLag] = {}
        self._repeated = RateLimitedLog(logger)
        self._reported: dict[str, str] = {}

    def check(self) -> None:
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
        warnings = self.warnings()
        for stream in self._findings:
            self._report(stream, warnings[stream].sentence if stream in warnings else "")

    def _report(self, stream: str, text: str) -> None:
        """Log each kind of warning once, even if kinds alternate."""
        last, kind = self._reported.get(stream, ""), _DIGITS.sub("", text)
        if kind:
            self._repeated.log(f"{stream}: {kind}", text)
        elif last:
            self._repeated.resolved(f"{stream}: {last}", "The stream has recovered.")
        self._reported[stream] = kind

    def warnings(self) -> dict[str, StreamWarning]:
        """Return the most severe warning about each stream that has warnings."""
        worst = {
            stream: stream_warning(findings, self._warnings)
            for stream, findings in self._findings.items()
        }
        return {stream: warning for stream, warning in worst.items() if warning is not None}

    def details(self, stream: str) -> dict[str, object]:
        """Return the figures of a stream for `/health`."""
        lag = self._findings.get(stream)
        found: dict[str, object] = {}
        if lag is not None:
            found = {"oplog_headroom_s": lag.headroom_s, "stalled_s": round(lag.stalled_s, 3)}
        return found | {"elections": self._elections.count}

    def least_headroom_s(self) -> float:
        """Return the smallest time in seconds between the oldest oplog entry and a stream's stored
        offset, or NaN if it is unknown."""
        known = (each.headroom_s for each in self._findings.values())
        return min((float(each) for each in known if each is not None), default=math.nan)

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
            self.check()
