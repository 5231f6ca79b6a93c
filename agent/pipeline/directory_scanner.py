"""Scans `cdc_raw` after changes and periodically."""

import logging
import math
from collections.abc import Callable
from pathlib import Path

from agent.cdc_raw.names import SegmentFiles, SegmentName
from agent.cdc_raw.observation import Observation, observe
from agent.cdc_raw.watcher import Watcher
from agent.segments.state import Segment
from sidecar.files.access import access_denial
from sidecar.logs import RateLimitedLog, fields

logger = logging.getLogger(__name__)

_LONG_S = 0.005
_PAUSE_SHARE = 4
_LONGEST_PAUSE_S = 5.0
"""A scan can take arbitrarily long if the process is suspended or the file system hangs. New
segments must not wait for a multiple of this time."""


def pause_s(took_s: float, longest_s: float = math.inf) -> float:
    """Returns the pause after work on possibly thousands of segments, a multiple of its duration if
    it took long: each change triggers this work, and the agent would do little else."""
    return min(longest_s, _PAUSE_SHARE * took_s) if took_s > _LONG_S else 0.0


class DirectoryScanner:
    """Decides when a scan is due, and runs it."""

    def __init__(
        self,
        directory: Path,
        interval_s: float,
        on_change: Callable[[], None],
        *,
        clock: Callable[[], float],
        commit_log: Path | None = None,
    ) -> None:
        """The watcher's thread calls `on_change`. `clock` returns seconds. `observe` describes
        `commit_log`."""
        self._directory = directory
        self._commit_log = commit_log
        self._interval_s = interval_s
        self._on_change = on_change
        self._clock = clock
        self.watcher = Watcher(directory, self._note_change)
        self.is_requested = False
        """True if something changed since the latest scan began."""
        self._next_s = clock()
        self._pause_until_s = clock()
        self._repeated = RateLimitedLog(logger)
        self._said: tuple[str, ...] = ()
        self.error = ""
        """Why the latest scan failed, or which index it could not read; otherwise empty."""
        self.last = Observation()
        """The result of the latest successful scan."""
        self.is_current = False
        """False before the first scan, and if the latest scan failed."""
        self._removed_bytes = 0

    @property
    def due_in_s(self) -> float:
        next_s = self._clock() if self.is_requested else self._next_s
        return max(0.0, max(next_s, self._pause_until_s) - self._clock())

    @property
    def size_bytes(self) -> int:
        """Size of all segments at the latest scan, minus segments that the agent removed since."""
        return max(0, self.last.size_bytes - self._removed_bytes)

    def begin_removal(self, name: SegmentName) -> None:
        """Notes that the agent removes a segment, so that its deletion triggers no scan."""
        self.watcher.removing.update((name.log, name.idx))

    def end_removal(self, segment: Segment) -> None:
        self._removed_bytes += 0 if segment.log is None else segment.log.size_bytes

    def request(self) -> None:
        self.is_requested = True

    def scan(self, is_completed: Callable[[SegmentName], bool]) -> Observation | None:
        """Observes the directory; returns None if it cannot be read, and retries later. `observe`
        describes `is_completed`."""
        self._next_s = self._clock() + self._interval_s
        self.watcher.ensure()
        # Reset before the scan, so that a change during the scan requests another scan.
        self.is_requested = False
        self.watcher.removing.clear()
        self._removed_bytes = 0
        try:
            self.last = observe(self._directory, is_completed, self._commit_log)
        except OSError as error:
            self.is_current = False
            found = access_denial(self._directory) if isinstance(error, PermissionError) else None
            self.error = (
                f"{self._directory} cannot be listed ({error.strerror or error}); the agent "
                f"retries. {found.message if found is not None else ''}"
            ).rstrip()
            self._repeated.log("look", self.error)
            return None
        self.is_current = True
        self._repeated.resolved("look", f"{self._directory} can be listed again.")
        self.error = _of_indexes(self._directory, self.last)
        self._log_irregular_files(self.last)
        return self.last

    def pause_after(self, took_s: float) -> None:
        """Pauses after a long scan, for at most five seconds. `took_s` includes its processing."""
        self._pause_until_s = self._clock() + pause_s(took_s, _LONGEST_PAUSE_S)

    def close(self) -> None:
        self.watcher.stop()

    def _note_change(self) -> None:
        self.is_requested = True
        self._on_change()

    def _log_irregular_files(self, observation: Observation) -> None:
        if observation.other_files != self._said:
            self._said = observation.other_files
            if observation.other_files:
                logger.warning(
                    "cdc_raw contains files that are not segments; the agent ignores them",
                    extra=fields(files=", ".join(observation.other_files[:5])),
                )
        for seen in observation.segments:
            key = f"idx {seen.name}"
            if seen.idx.unreadable is not None:
                self._repeated.log(
                    key,
                    "an index file cannot be read; the agent treats it as unchanged",
                    segment=seen.name,
                    content=seen.idx.unreadable,
                )


def _of_indexes(directory: Path, observation: Observation) -> str:
    for seen in observation.segments:
        if seen.idx.unreadable is not None and seen.log is not None:
            index, reason = SegmentFiles(directory, seen.name).idx, seen.idx.unreadable
            return (
                f"{index} is unreadable or invalid ({reason}), so nothing new in its segment is "
                "read. The agent's user must be able to read it; only the node may write it."
            )
    return ""
