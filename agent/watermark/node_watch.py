"""The thread that probes the node on request."""

import threading
from collections.abc import Callable
from typing import Protocol

from agent.watermark.node_probe import NodeProbe
from sidecar.errors import SidecarError
from sidecar.process.worker import Worker

ProbeResult = NodeProbe | SidecarError
"""The answers of the node, or why there are none."""


class Prober(Protocol):
    """See `NodeProber`."""

    def probe(self) -> NodeProbe: ...
    def close(self) -> None: ...


class NodeWatch:
    """One probe at a time. The pipeline's thread calls `request` and `take`."""

    def __init__(self, prober: Prober, wake: Callable[[], None]) -> None:
        """The thread calls `wake` when a probe is done."""
        self._prober = prober
        self._wake = wake
        self._requested = threading.Event()
        self._result: ProbeResult | None = None
        self._worker = Worker("watermark", self._work)

    def start(self) -> None:
        self._worker.start()

    def close(self) -> None:
        """Ends the thread; a query without an answer ends with the process."""
        self._requested.set()
        self._worker.stop()
        if not self._worker.is_alive:
            self._prober.close()

    def request(self) -> None:
        self._result = None
        self._requested.set()

    def take(self) -> ProbeResult | None:
        """The result of the requested probe, once; None while it is not there."""
        result, self._result = self._result, None
        return result

    def _work(self, stopped: threading.Event) -> None:
        while True:
            self._requested.wait()
            self._requested.clear()
            if stopped.is_set():
                return
            try:
                self._result = self._prober.probe()
            except SidecarError as error:
                self._result = error
            self._wake()
