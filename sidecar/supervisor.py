"""`python -m sidecar.supervisor agent run …`: run an agent in a container beside a database.

A pod is ready only while all its containers run, so an agent that fails repeatedly would make the
database's pod unready. This process does not exit with its agent: it restarts the agent after a
growing pause (1 s to 60 s). It also restarts an agent whose `/live` fails or stops answering. It
forwards SIGTERM and SIGINT, and then exits with the agent's exit code.

`--mkdir PATH` first creates a directory for the agent's user. With `--only-pod-index N`, the agent
runs only in the StatefulSet's pod with that index, which the variable POD_INDEX contains. In other
pods, this process waits for SIGTERM.

The variable HTTP_PORT is the agent's `http.port` (default: 8000); LOG_FORMAT is `json` (default) or
`text`. Imports only small modules: the process lives as long as the container.
"""

import argparse
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sidecar.healthcheck import live_answer
from sidecar.logs import configure, fields

logger = logging.getLogger("sidecar.supervisor")

_EXIT_USAGE = 2
_STOPPING = frozenset((signal.SIGTERM, signal.SIGINT))
# Blocked and waited for: without handlers, no signal can be missed between two statements.
_AWAITED = _STOPPING | {signal.SIGCHLD}


@dataclass(frozen=True, slots=True)
class Pace:
    """Times in seconds."""

    first_pause_s: float = 1.0
    longest_pause_s: float = 60.0
    healthy_after_s: float = 600.0
    """If the agent ran this long, the next pause is the first pause again."""
    live_every_s: float = 15.0
    live_failures: int = 8
    """Consecutive failures of `/live` before the agent is restarted: two minutes."""
    kill_after_s: float = 40.0
    """From SIGTERM to SIGKILL of an agent that is not live."""


class Supervisor:
    """Restarts one command until SIGTERM or SIGINT. Blocks these signals in this thread."""

    def __init__(
        self,
        command: Sequence[str],
        pace: Pace | None = None,
        is_live: Callable[[], bool | None] | None = None,
    ) -> None:
        """`is_live` returns None when the agent does not answer."""
        self._command = list(command)
        self._pace = pace or Pace()
        self._is_live = is_live or _is_live
        self._is_stopping = False
        signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)

    def run(self) -> int:
        """Run the command until it is stopped. Return its last exit code."""
        pause_s = self._pace.first_pause_s
        while True:
            started_s = time.monotonic()
            code = self._run_once()
            if self._is_stopping:
                return code
            if time.monotonic() - started_s >= self._pace.healthy_after_s:
                pause_s = self._pace.first_pause_s
            logger.error(
                "the agent exited and will be restarted; its last lines state the cause",
                extra=fields(exit_code=code, pause_s=pause_s),
            )
            if self._sleep(pause_s):
                return code
            pause_s = min(2 * pause_s, self._pace.longest_pause_s)

    def idle(self) -> int:
        """Wait for a stop signal, without an agent."""
        while not self._sleep(self._pace.longest_pause_s):
            pass
        return 0

    def _run_once(self) -> int:
        try:
            pid = os.posix_spawnp(self._command[0], self._command, os.environ, setsigmask=())
        except OSError as error:
            logger.error("the agent cannot be started", extra=fields(error=str(error)))
            return _EXIT_USAGE
        failures, has_answered = 0, False
        kill_at_s: float | None = None
        next_s = time.monotonic() + self._pace.live_every_s
        while True:
            number = _next_signal(next_s - time.monotonic())
            if number in _STOPPING:
                self._is_stopping = True
                os.kill(pid, number)
            code = _reap(pid)
            if code is not None:
                return code
            now_s = time.monotonic()
            if now_s < next_s:
                continue
            next_s = now_s + self._pace.live_every_s
            if kill_at_s is not None:
                if now_s >= kill_at_s:
                    os.kill(pid, signal.SIGKILL)
            elif not self._is_stopping:
                answer = self._is_live()
                has_answered |= answer is not None
                # Without any answer, HTTP_PORT may be wrong: no reason to stop a working agent.
                failures = failures + 1 if has_answered and not answer else 0
                if failures >= self._pace.live_failures:
                    logger.error("the agent is not live and will be restarted")
                    os.kill(pid, signal.SIGTERM)
                    kill_at_s = now_s + self._pace.kill_after_s

    def _sleep(self, seconds: float) -> bool:
        """Wait. Return whether a stop signal ended the wait."""
        end_s = time.monotonic() + seconds
        while (remaining_s := end_s - time.monotonic()) > 0:
            if _next_signal(remaining_s) in _STOPPING:
                return True
        return False


def _is_live() -> bool | None:
    """Query `/live` on loopback; None without an answer."""
    status, _ = live_answer()
    return None if status is None else status == 200


def _next_signal(timeout_s: float) -> signal.Signals | None:
    """Wait for a signal, and return it; None after the timeout."""
    info = signal.sigtimedwait(_AWAITED, max(0.0, timeout_s))
    return None if info is None else signal.Signals(info.si_signo)


def _reap(pid: int) -> int | None:
    """Return the child's exit code, or None. Also reaps orphans, as process 1 of a container."""
    code = None
    while True:
        try:
            ended, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if ended == 0:
            return code
        if ended == pid:
            code = os.waitstatus_to_exitcode(status)
            # The exit code that a shell reports for a death by signal.
            code = code if code >= 0 else 128 - code


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the supervisor. Return the exit code of the process."""
    parser = argparse.ArgumentParser("python -m sidecar.supervisor", description=__doc__)
    parser.add_argument("--mkdir", metavar="PATH", action="append", default=[])
    parser.add_argument("--only-pod-index", metavar="N")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    if not options.command:
        parser.error("a command is missing")
    configure("text" if os.environ.get("LOG_FORMAT") == "text" else "json", "info")
    supervisor = Supervisor(options.command)
    index = os.environ.get("POD_INDEX", "")
    if options.only_pod_index not in (None, index):
        values = fields(pod_index=index, agent_in=options.only_pod_index)
        logger.info("this pod runs no agent", extra=values)
        return supervisor.idle()
    for path in options.mkdir:
        _make_directory(path)
    return supervisor.run()


def _make_directory(path: str) -> None:
    try:
        Path(path).mkdir(mode=0o750, parents=True, exist_ok=True)
    except OSError as error:
        # The agent reports the directory, with a remedy.
        values = fields(directory=path, error=str(error))
        logger.error("the directory cannot be created", extra=values)


if __name__ == "__main__":
    sys.exit(main())
