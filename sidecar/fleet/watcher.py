"""The fleet as a running agent shows it: asked in the background, and only while a page is open."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from sidecar.errors import SidecarError
from sidecar.fleet.dns import resolve_targets
from sidecar.fleet.poll import DEFAULT_TIMEOUT_S, poll
from sidecar.fleet.report import AgentReport
from sidecar.fleet.summary import FleetReport, fleet_of
from sidecar.fleet.target import DEFAULT_PORT, Target, read_targets
from sidecar.process.worker import Worker

logger = logging.getLogger(__name__)

CACHED_S = 5.0
"""Age from which an answer is renewed; a request gets the last one at once."""
_JOIN_S = 1.0

Poll = Callable[[Sequence[Target]], list[AgentReport]]


def configured_targets(file: Path | None, dns: str | None) -> list[Target]:
    """The agents of `fleet.targets.file` and `fleet.dns`, each once. Raises SidecarError."""
    targets = [] if file is None else read_targets(file)
    targets += [] if dns is None else resolve_targets(dns, DEFAULT_PORT)
    return list({target.url: target for target in targets}.values())


@dataclass(frozen=True, slots=True)
class FleetView:
    """The last round. `report` is None before the first one."""

    report: FleetReport | None = None
    at: str | None = None
    """Time of the round in UTC."""
    error: str = ""
    """Why the targets are not known; the last report stays."""


class FleetWatcher(Worker):
    """Asks the targets on a separate thread inside a `with` block. Only the configured targets are
    asked, whatever a request contains. Thread-safe."""

    def __init__(
        self,
        targets: Callable[[], Sequence[Target]],
        *,
        ask: Poll = lambda targets: poll(targets, DEFAULT_TIMEOUT_S),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`targets` is called before each round and raises SidecarError. `clock` is in seconds."""
        super().__init__("fleet", self._run, join_s=_JOIN_S)
        self._targets = targets
        self._ask = ask
        self._clock = clock
        self._wanted = threading.Event()
        self._asked_s: float | None = None
        self._view = FleetView()

    def document(self) -> dict[str, object]:
        """The body of `/fleet.json`; starts a round when the last one is old. Never waits."""
        view, asked_s = self._view, self._asked_s
        if asked_s is None or self._clock() - asked_s >= CACHED_S:
            self._wanted.set()
        known: dict[str, object] = {"summary": None, "agents": []}
        if view.report is not None:
            known = asdict(view.report)
        return {"at": view.at, "error": view.error, "is_loading": view.at is None, **known}

    def stop(self) -> None:
        self._stopped.set()
        self._wanted.set()
        super().stop()

    def round(self) -> None:
        """Asks all targets once."""
        report, error = self._view.report, ""
        try:
            report = fleet_of(self._ask(self._targets())).report()
        except SidecarError as failure:
            error = str(failure)
        except Exception as failure:
            logger.exception("the fleet cannot be asked")
            error = f"{type(failure).__name__}: {failure}"
        at = datetime.now(UTC).isoformat(timespec="seconds")
        self._asked_s = self._clock()
        self._view = FleetView(report, at, error)

    def _run(self, stopped: threading.Event) -> None:
        while True:
            self._wanted.wait()
            if stopped.is_set():
                return
            self._wanted.clear()
            self.round()
