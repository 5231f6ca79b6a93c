"""Runs checks: each once for a command, or at its interval in a running agent."""

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Generic

from sidecar.check.check import Check, Finding, Level, ProbeT, findings_of
from sidecar.process.lifecycle import Worker

logger = logging.getLogger(__name__)

_TICK_S = 1.0
_JOIN_S = 1.0


def run_checks(
    checks: Sequence[Check[ProbeT]],
    probe: ProbeT,
    on_wait: Callable[[tuple[str, ...], float], None] = lambda servers, for_s: None,
) -> Iterator[Finding]:
    """Run each check once. Yield findings: first from checks that do not wait, in list order, then
    from the others, which run concurrently, as their servers answer.

    `on_wait` is called before each wait, which lasts at most a second, with the servers and the
    seconds since the begin.
    """
    checks = [check for check in checks if check.runs_in_command]
    found: queue.SimpleQueue[tuple[Check[ProbeT], Finding | None]] = queue.SimpleQueue()

    def ask(check: Check[ProbeT]) -> None:
        for finding in findings_of(check, probe):
            found.put((check, finding))
        found.put((check, None))

    pending = [check for check in checks if _server(check, probe)]
    begun_s = time.monotonic()
    for check in pending:
        threading.Thread(target=ask, args=(check,), name=check.name, daemon=True).start()
    for check in checks:
        if check not in pending:
            yield from findings_of(check, probe)
    while pending:
        servers = tuple(dict.fromkeys(_server(check, probe) for check in pending))
        on_wait(servers, time.monotonic() - begun_s)
        try:
            check, finding = found.get(timeout=_TICK_S)
        except queue.Empty:
            continue
        if finding is None:
            pending.remove(check)
        else:
            yield finding


def _server(check: Check[ProbeT], probe: ProbeT) -> str:
    return "" if check.server is None else check.server(probe)


class PeriodicChecks(Worker, Generic[ProbeT]):
    """Runs checks on a separate thread inside a `with` block.

    Checks that are due at the same time share one probe. The thread delays shutdown by at most a
    second: a check that still waits for a server is abandoned.
    """

    def __init__(
        self,
        checks: Sequence[Check[ProbeT]],
        probe: Callable[[], ProbeT],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`probe` creates a probe for each round on the checks' thread. `clock` returns seconds."""
        super().__init__("checks", self._run, join_s=_JOIN_S)
        self._checks = tuple(check for check in checks if check.runs_in_agent)
        self._probe = probe
        self._clock = clock
        self._found: dict[int, tuple[float, tuple[Finding, ...]]] = {}
        self._due_s: dict[int, float] = dict.fromkeys(range(len(self._checks)), clock())

    def findings(
        self, reported_s: Mapping[str, float] = MappingProxyType({})
    ) -> tuple[Finding, ...]:
        """Return the latest findings of each check, in list order. Thread-safe.

        Omit findings about a subject in `reported_s` if their check began no later than that time.
        """
        return tuple(
            each
            for _, (began_s, found) in sorted(self._found.items())
            for each in found
            if each.subject not in reported_s or began_s > reported_s[each.subject]
        )

    def _run(self, stopped: threading.Event) -> None:
        while not stopped.is_set():
            self.run_due()
            due_s = min(self._due_s.values(), default=None)
            stopped.wait(None if due_s is None else max(0.0, due_s - self._clock()))

    def run_due(self) -> None:
        due = [number for number, due_s in self._due_s.items() if due_s <= self._clock()]
        if not due:
            return
        try:
            probe = self._probe()
        except Exception:
            # The previous findings remain valid until the next round.
            logger.exception("checks failed to run; they are retried")
            for number in due:
                self._due_s[number] = self._clock() + self._checks[number].retry_s
            return
        for number in sorted(due):
            if self.is_stopping:
                return
            self._make(number, probe)

    def _make(self, number: int, probe: ProbeT) -> None:
        check = self._checks[number]
        began_s = self._clock()
        found = tuple(findings_of(check, probe))
        is_faulty = any(finding.level is Level.FAULT for finding in found)
        pause_s = check.interval_s
        if is_faulty:
            pause_s = check.retry_s if pause_s is None else min(pause_s, check.retry_s)
        if pause_s is None:
            del self._due_s[number]
        else:
            self._due_s[number] = self._clock() + pause_s
        self._found = {**self._found, number: (began_s, found)}
