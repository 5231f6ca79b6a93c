"""The thread that probes the node on request."""

import threading

from agent.watermark.node_probe import NodeProbe
from agent.watermark.node_watch import NodeWatch
from sidecar.errors import SidecarError, UnavailableError
from tests.support.node.fake_watermarks import FakeWatermarkNode
from tests.support.pipeline.fakes import FakeClock
from tests.support.servers.processes import DEADLINE_S


class Prober:
    def __init__(self) -> None:
        self.node = FakeWatermarkNode(FakeClock())
        self.is_closed = False

    def probe(self) -> NodeProbe:
        self.node.request()
        result = self.node.take()
        if isinstance(result, SidecarError):
            raise result
        assert result is not None
        return result

    def close(self) -> None:
        self.is_closed = True


def test_each_request_gives_one_result() -> None:
    prober, done = Prober(), threading.Event()
    watch = NodeWatch(prober, done.set)
    watch.start()
    assert watch.take() is None
    watch.request()
    assert done.wait(DEADLINE_S)
    assert isinstance(watch.take(), NodeProbe)
    assert watch.take() is None
    done.clear()
    prober.node.is_running = False
    watch.request()
    assert done.wait(DEADLINE_S)
    assert isinstance(watch.take(), UnavailableError)
    watch.close()
    assert prober.is_closed
