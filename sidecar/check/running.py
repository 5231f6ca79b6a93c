"""Runs each check once; checks that wait for servers run concurrently."""

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from sidecar.check.check import Check, Finding, ProbeT, findings_of

_TICK_S = 1.0


def run_checks(
    checks: Sequence[Check[ProbeT]],
    probe: ProbeT,
    on_wait: Callable[[tuple[str, ...], float], None] = lambda servers, for_s: None,
) -> Iterator[Finding]:
    """Yield findings: first from checks that do not wait, in list order, then from the others as
    their servers answer.

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
