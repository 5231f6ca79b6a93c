"""Limits of inotify, and a clock that is set back."""

import ctypes
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

import pytest

from tests.acceptance.faults.filesystem_harness import UID, FilesystemHarness, as_user
from tests.acceptance.faults.situation import situation
from tests.support.agents.fault_reports import Report
from tests.support.servers.processes import freeze

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")

_INSTANCES = """
import ctypes, os
libc = ctypes.CDLL(None)
while libc.inotify_init1(0) >= 0:
    pass
print("taken", flush=True)
input()
"""

_CLOCK = """
import os, time
_time, _file = time.time, os.environ["CLOCK_OFFSET_FILE"]
def shifted():
    with open(_file) as file:
        return _time() + float(file.read())
time.time = shifted
time.time_ns = lambda: int(shifted() * 1e9)
"""


class InotifyQueue:
    """inotify instance without a reader until `has_overflowed`. It watches one directory for
    created, written and deleted files, like the agent."""

    _MASK = 0x8 | 0x100 | 0x200
    """IN_CLOSE_WRITE, IN_CREATE, IN_DELETE."""
    _OVERFLOW = 0x4000
    """IN_Q_OVERFLOW."""
    _EVENT = struct.Struct("iIII")

    def __init__(self, directory: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        added = libc.inotify_add_watch(self._descriptor, os.fsencode(directory), self._MASK)
        if added < 0:
            raise OSError(ctypes.get_errno(), f"inotify_add_watch of {directory}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        os.close(self._descriptor)

    def has_overflowed(self) -> bool:
        """Read the whole queue; True if the kernel dropped events."""
        masks = 0
        while True:
            try:
                data = os.read(self._descriptor, 1 << 16)
            except BlockingIOError:
                return bool(masks & self._OVERFLOW)
            at = 0
            while at < len(data):
                _, mask, _, length = self._EVENT.unpack_from(data, at)
                masks |= mask
                at += self._EVENT.size + length


@contextmanager
def no_instances(uid: int) -> Iterator[None]:
    """Take all inotify instances of a user."""
    command = [*as_user(uid), sys.executable, "-c", _INSTANCES]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as taker:
        assert taker.stdout is not None
        assert taker.stdout.readline() == b"taken\n"
        try:
            yield
        finally:
            taker.kill()


@pytest.mark.slow
@needs_root
@situation(
    "The user of the agent has no inotify instance left (`max_user_instances`), then has one"
)
def test_agent_polls_without_inotify_instance(harness: FilesystemHarness, report: Report) -> None:
    harness.give(UID)
    with ExitStack() as stack:
        with no_instances(UID):
            agent = stack.enter_context(harness.running(prefix=as_user(UID)))
            agent.until("an answer", lambda: agent.body() is not None)
            harness.put("batches")
            agent.until_drained()
            assert agent.metric("cdc_inotify_active") == 0
            agent.until_not_ok("inotify_unavailable", "inotify")
        harness.put("collections")
        agent.until("a watch", lambda: agent.metric("cdc_inotify_active") == 1)
        agent.finish()
    report(harness.outcome())


@situation("The agent's namespace allows no inotify watch (`max_user_watches`)")
def test_agent_polls_without_inotify_watches(harness: FilesystemHarness, report: Report) -> None:
    limit = 'echo 0 > /proc/sys/user/max_inotify_watches && exec "$0" "$@"'
    with harness.running(
        prefix=["unshare", "--user", "--map-root-user", "sh", "-c", limit]
    ) as agent:
        agent.until("an answer", lambda: agent.body() is not None)
        harness.put("batches", "collections")
        agent.until_drained()
        assert agent.metric("cdc_inotify_active") == 0
        agent.until_not_ok("inotify_unavailable", "inotify")
        assert agent.stop() == 0
    report(harness.outcome())


@pytest.mark.slow
@situation("The kernel drops inotify events (`max_queued_events`) while the agent is frozen")
def test_inotify_overflow_triggers_a_scan(harness: FilesystemHarness, report: Report) -> None:
    queued = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    # The periodic scan exceeds the deadline, so only the overflow can wake this agent.
    with harness.running({"cdc.dir.poll.interval.ms": "3600000"}) as agent:
        agent.until("a watch", lambda: agent.metric("cdc_inotify_active") == 1)
        agent.until_ok()
        freeze(agent.pid)
        with InotifyQueue(harness.cdc_raw) as queue:
            noise = harness.cdc_raw / "noise"
            for _ in range(queued // 3 + 100):
                noise.touch()
                noise.unlink()
            # The agent's queue has the same limit and the same events.
            assert queue.has_overflowed()
        harness.put("batches", "collections")
        os.kill(agent.pid, signal.SIGCONT)
        agent.finish()
    log = (harness.folder / "agent.log").read_text()
    assert log.count("The kernel dropped inotify events") == 1
    report(harness.outcome())


@situation("The machine's clock is set back by an hour while the agent runs")
def test_clock_set_back_loses_nothing(harness: FilesystemHarness, report: Report) -> None:
    offset = harness.folder / "offset"
    offset.write_text("0")
    (harness.folder / "sitecustomize.py").write_text(_CLOCK)
    path = f"{harness.folder}:{os.environ.get('PYTHONPATH', '')}"
    prefix = ["env", f"PYTHONPATH={path}", f"CLOCK_OFFSET_FILE={offset}"]
    with harness.running(prefix=prefix) as agent:
        harness.put("batches")
        agent.until_drained()
        offset.write_text("-3600")
        harness.put("collections")
        agent.until_drained()
        agent.until_ok()
        assert agent.metric("cdc_lag_seconds") >= 0
        assert agent.stop() == 0
    with harness.running(prefix=prefix) as agent:
        harness.put("timestamps")
        agent.finish()
    report(harness.complete())
