"""Runs the real agent over recorded segments, with faults of its file systems.

    harness.put("batches", "collections")     segments and indexes, as a node left them
    with harness.running() as agent:          a process of its own that writes to a file
        agent.until_not_ok("No space left")   the text that /health reports
        agent.until_drained()
    report(harness.outcome())                 compared with the dumps of the recordings

Mounts need root: `mounted` is a tmpfs over one directory, ended with its block.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from agent.quarantine.files import REASON
from examples.agent_process import AgentProcess
from tests.acceptance.faults.recorded import WORKLOADS, arrived, recording, schema_of
from tests.acceptance.faults.situation import Outcome, outcome_of
from tests.support.agents.agent_directory import AgentDir
from tests.support.servers.processes import DEADLINE_S, wait_until

UID = 23_456
"""User id of an unprivileged agent."""


class Agent(AgentProcess):
    """The agent's process; `prefix` is a command that starts it."""

    def __init__(
        self, harness: "FilesystemHarness", arguments: Sequence[str], prefix: Sequence[str]
    ) -> None:
        super().__init__(arguments, harness.folder / "agent.log", preferred_port=0)
        self.command = [*prefix, *self.command]
        self._harness = harness

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def body(self) -> dict[str, Any] | None:
        """Raw body of `/health`; None while nothing answers."""
        found = self._get("/health")
        return json.loads(found) if found else None

    def until(self, what: str, condition: Callable[[], bool]) -> None:
        self.wait_until(what, condition, DEADLINE_S)

    def until_ok(self) -> None:
        self.until("/health to be ok", lambda: (self.body() or {}).get("status") == "ok")

    def until_not_ok(self, *texts: str) -> str:
        """Wait until `/health` is not ok and contains all the texts; returns the body."""

        def is_reported() -> bool:
            body = self.body()
            if body is None or body["status"] == "ok":
                return False
            return all(text in json.dumps(body, ensure_ascii=False) for text in texts)

        self.until(f"/health to report {texts}", is_reported)
        return json.dumps(self.body())

    def until_drained(self) -> None:
        self.until("cdc_raw to be empty", lambda: not any(self._harness.cdc_raw.glob("*.log")))

    def finish(self) -> None:
        """Drain, wait until `/health` is ok, and stop."""
        self.until_drained()
        self.until_ok()
        assert self.stop() == 0

    def ended(self) -> int:
        """Exit code of a process that ends by itself."""
        assert self._process is not None
        return self._process.wait(DEADLINE_S)

    def metric(self, name: str) -> float:
        """One sample of `/metrics`; 0 without one."""
        for line in (self._get("/metrics") or b"").decode().splitlines():
            if line.startswith(f"{name} ") or line.startswith(f"{name}{{"):
                return float(line.rsplit(" ", 1)[1])
        return 0.0


class FilesystemHarness(AgentDir):
    """Directories, schema and configuration; `expected` grows with the added segments."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.expected: list[str] = []
        self.schema.write_text(schema_of(map(recording, WORKLOADS)))
        self.output = folder / "output"
        self.output.mkdir()
        self.events = self.output / "events.ndjson"
        self.node = folder / "cassandra.yaml"
        self.node.write_text(
            f"cdc_enabled: true\ncdc_raw_directory: {self.cdc_raw}\ncdc_total_space: 20GiB\n"
        )

    def settings(self) -> dict[str, str]:
        return {
            **super().settings(),
            "cassandra.config": str(self.node),
            "cdc.dir.poll.interval.ms": "200",
            "offset.flush.interval.ms": "0",
        }

    def put(self, *workloads: str, idx: str | None = "", is_damaged: bool = False) -> list[Path]:
        """Add recorded segments; `idx` replaces the recorded index, None omits it. `is_damaged`:
        bytes of the first record with an event differ."""
        paths = []
        for workload in workloads:
            found = recording(workload)
            data = bytearray(found.data)
            if is_damaged:
                place = found.lines[0]["pos"] - 20
                data[place : place + 8] = b"damaged!"
            path = self.cdc_raw / found.name.log
            if idx is not None:
                (self.cdc_raw / found.name.idx).write_text(idx or found.idx)
            # The name comes last, as with a hard link.
            made = self.folder / found.name.log
            made.write_bytes(data)
            shutil.move(made, self.cdc_raw / f"new-{path.name}")
            (self.cdc_raw / f"new-{path.name}").rename(path)
            self.expected += found.events()
            paths.append(path)
        return paths

    def put_copies(self, workload: str, count: int, first_id: int) -> None:
        """Add the same recorded content under other ids."""
        found = recording(workload)
        for segment_id in range(first_id, first_id + count):
            path = self.cdc_raw / f"CommitLog-7-{segment_id}.log"
            path.write_bytes(found.repeated(segment_id, 1, len(found.data)))
            path.with_name(f"{path.stem}_cdc.idx").write_text(found.idx)
            self.expected += found.events(segment_id)

    def running(
        self, changes: Mapping[str, str | None] | None = None, prefix: Sequence[str] = ()
    ) -> Agent:
        path = self.configuration(changes)
        path.chmod(0o644)
        return Agent(self, ["run", "--config", str(path)], prefix)

    def recorded(self) -> list[str]:
        """Segments with a reason in the quarantine."""
        return sorted(path.name for path in (self.relocation / "error").glob(f"*{REASON}"))

    def reasons(self) -> list[dict[str, Any]]:
        error = self.relocation / "error"
        return [orjson.loads((error / name).read_bytes()) for name in self.recorded()]

    def undelivered(self) -> list[str]:
        """Expected events that did not arrive."""
        found = set(arrived(self.events))
        return [event for event in self.expected if event not in found]

    def outcome(self, recorded: Sequence[str] = ()) -> Outcome:
        return outcome_of(self.expected, arrived(self.events), recorded)

    def complete(self) -> Outcome:
        """Outcome, with an empty quarantine."""
        assert self.recorded() == []
        return self.outcome()

    def give(self, uid: int) -> None:
        """Give everything except `cdc_raw`'s segments to this user."""
        for directory in (self.cdc_raw, self.relocation, self.offsets, self.output):
            os.chown(directory, uid, uid)


def as_user(uid: int) -> list[str]:
    """Start a command as this user, without any right of root."""
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--inh-caps=-all"]


@contextmanager
def mounted(directory: Path, size: str) -> Iterator[None]:
    """A file system of this size over a directory."""
    _run("mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(directory))
    try:
        yield
    finally:
        while directory.is_mount():
            _unmount(directory)


def remount(directory: Path, mode: str) -> None:
    """`ro` or `rw`. A second mount is read-only: the kernel does not change the first one while the
    agent has a file open for writing."""
    if mode == "ro":
        _run("mount", "--bind", str(directory), str(directory))
        _run("mount", "-o", "remount,bind,ro", str(directory))
    else:
        _unmount(directory)


def _unmount(directory: Path) -> None:
    # A killed process releases it within moments.
    command = ["umount", str(directory)]
    wait_until(
        lambda: subprocess.run(command, check=False).returncode == 0, f"{directory} to be free"
    )


def fill(directory: Path) -> Path:
    """Fill a file system; returns the file that occupies it."""
    ballast = directory / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return ballast


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
