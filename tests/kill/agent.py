"""The agent as a process of its own, started, killed and asked over HTTP."""

import json
import re
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from agent.config import OFFSET_FILE
from sidecar.offsets import PropertiesStore
from tests.harness.errors import ServerFailedError
from tests.harness.processes import ServerProcess, free_port, wait_until
from tests.kill.checks import COMPLETED, Life

WINDOW_EVENTS = 800
_ASK_TIMEOUT_S = 10


class Agent:
    """One agent after the other over the same directories; `lives` tells of each."""

    def __init__(
        self,
        directory: Path,
        *,
        node_yaml: Path,
        bootstrap: str,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        """`settings` are properties that are added or replaced."""
        self.directory = directory
        self.archive = directory / "relocation" / "archive"
        self.quarantine = directory / "relocation" / "error"
        self._offsets = directory / "offsets"
        self.lives: list[Life] = []
        self._port = free_port()
        self._flush_interval_ms = 0
        for folder in (self._offsets, self.archive):
            folder.mkdir(parents=True)
        properties = {
            "topic.prefix": "kill",
            "cassandra.config": node_yaml,
            "kafka.producer.bootstrap.servers": bootstrap,
            "commit.log.relocation.dir": directory / "relocation",
            "commit.log.transfer.class": "archive",
            "offset.backing.store.dir": self._offsets,
            "inflight.max.events": WINDOW_EVENTS,
            "http.host": "127.0.0.1",
            "http.port": self._port,
            **(settings or {}),
        }
        self._configuration = directory / "cdc.properties"
        self._configuration.write_text("".join(f"{k}={v}\n" for k, v in properties.items()))
        self._process = ServerProcess("the agent", ["unset"], directory / "agent.log")

    @property
    def is_running(self) -> bool:
        return self._process.is_running

    def start(self, flush_interval_ms: int = 0) -> None:
        """Starts a process and does not wait for it to deliver."""
        program = Path(sys.executable).with_name("agent")
        override = f"offset.flush.interval.ms={flush_interval_ms}"
        self._process.command = [
            *(str(program), "run", "--config", str(self._configuration), "--set", override)
        ]
        number = len(self.lives)
        self.lives.append(Life(number, _now_ms(), "running", flush_interval_ms, {}))
        self._process.start()

    def kill(self) -> None:
        """SIGKILL."""
        self.require_running()
        self._process.kill()
        self._note_end("killed")

    def stop(self) -> None:
        """SIGTERM; raises when it does not end by itself with exit code 0."""
        self.require_running()
        status = self._process.terminate()
        if status != 0:
            raise ServerFailedError(f"The agent stopped with {status}.\n{self.log_tail()}")
        self._note_end("stopped")

    def require_running(self) -> None:
        """Raises when it has ended without being asked to."""
        if not self.is_running:
            status = self._process.exit_status
            raise ServerFailedError(f"The agent ended with {status}.\n{self.log_tail()}")

    def end(self) -> None:
        """Kills what still runs."""
        if self.is_running:
            self._process.kill()

    def has_drained(self) -> bool:
        """Whether it has nothing to read, to send or to save."""
        self.require_running()
        health, offsets = self._ask("/health"), self._ask("/offsets")
        if health is None or offsets is None or "sink" not in health["components"]:
            return False
        parts = health["components"]
        return bool(
            parts["sink"]["unacknowledged_events"] == 0
            and parts["cdc_raw"]["lag_bytes"] == 0
            and offsets["stored"] == offsets["reached"]
        )

    def wait_until_drained(self, deadline_s: float) -> None:
        wait_until(
            self.has_drained,
            "the agent to drain",
            deadline_s=deadline_s,
            process=self._process,
        )

    def acknowledged_events(self) -> int:
        """By this process so far; 0 while it does not answer."""
        found = re.search(rb"^cdc_events_acknowledged_total (\S+)", self._get("/metrics"), re.M)
        return int(float(found[1])) if found else 0

    def log_tail(self) -> str:
        return self._process.log_tail()

    def _note_end(self, end: Literal["killed", "stopped"]) -> None:
        self.lives[-1] = replace(self.lives[-1], end=end, stored=self._stored())

    def _stored(self) -> Mapping[int, int]:
        values = PropertiesStore(self._offsets, OFFSET_FILE).load().values
        return {
            int(name.removesuffix(".log").rpartition("-")[2]): (
                COMPLETED if value == "COMPLETED" else int(value)
            )
            for name, value in values.items()
            if name.endswith(".log")
        }

    def _ask(self, path: str) -> dict[str, Any] | None:
        """The answer; None while there is none."""
        body = self._get(path)
        return dict(json.loads(body)) if body else None

    def _get(self, path: str) -> bytes:
        """The body of the answer; nothing while there is none."""
        url = f"http://127.0.0.1:{self._port}{path}"
        try:
            with urllib.request.urlopen(url, timeout=_ASK_TIMEOUT_S) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.read()
        except OSError:
            return b""


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
