"""A node's answers to a probe, and the thread that requests them."""

import threading
from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

import pytest

from agent.config.node_settings import NodeSettings, settings_of_node
from agent.node.connection import NodeAddress, NodeFacts
from agent.snapshot.connection import PageConnection
from agent.snapshot.plan import NodeTable
from agent.snapshot.ring import Ring, RingNode, TokenRange
from agent.watermark.node_probe import NodeProbe, NodeProber, NodeWatch, PendingHints
from sidecar.errors import AccessDeniedError, ConfigError, SidecarError, UnavailableError
from tests.support.node.fake_watermarks import FakeWatermarkNode
from tests.support.pipeline.fakes import FakeClock
from tests.support.servers.processes import DEADLINE_S

HOUR = datetime(2026, 1, 2, 3, 4, 5, 678000)  # noqa: DTZ001
HINTS = PendingHints("b", 2, 1767323045678, 1767323045678)


class Node(PageConnection):
    """Answers from memory."""

    def __init__(self, release: str = "5.0.9", settings: Mapping[str, str] | None = None) -> None:
        super().__init__(NodeAddress(("localhost",)), lambda keyspace, table: True)
        self.release = release
        self.settings = settings
        self.generation = 1
        self.may_read_hints = True
        self.queries: list[str] = []

    def rows(self, query: str) -> list[Mapping[str, Any]]:
        self.queries.append(query)
        if "gossip_generation" in query:
            return [{"gossip_generation": self.generation}]
        if "settings" in query:
            if self.settings is None:
                raise AccessDeniedError("no rights on system_views.settings")
            return [{"name": name, "value": value} for name, value in self.settings.items()]
        assert "pending_hints" in query
        if not self.may_read_hints:
            raise AccessDeniedError("no rights on system_views.pending_hints")
        return [{"host_id": "b", "files": 2, "oldest": HOUR, "newest": HOUR}]

    def facts(self) -> NodeFacts:
        return NodeFacts("a", "c", self.release)

    def ring(self) -> Ring:
        release = tuple(map(int, self.release.split(".")))
        return Ring("a", (RingNode("a", "dc1", (0,)), RingNode("b", "dc1", (10,))), release)

    def tables(self) -> list[NodeTable]:
        return [
            NodeTable("1", "ks", "t", True, False),
            NodeTable("2", "other", "u", True, False),
            NodeTable("3", "ks", "private", False, False),
        ]

    def replication(self, keyspace: str) -> Mapping[str, str]:
        return {"class": "SimpleStrategy", "replication_factor": "1"}


def settings(**values: str) -> NodeSettings:
    return settings_of_node("test", values)


PERIODIC = {"commitlog_sync": "periodic", "commitlog_sync_period": "10s"}


def test_probe_contains_published_tables_and_keyspace_ranges() -> None:
    probe = NodeProber(Node(settings=PERIODIC), None, None, now_ms=lambda: 5).probe()
    assert (probe.asked_at_ms, probe.generation, probe.host_id) == (5, 1, "a")
    assert probe.tables == ("ks.t", "other.u")
    (replication,) = probe.replication
    assert replication.keyspaces == ("ks", "other")
    assert TokenRange(10, (1 << 63) - 1) in replication.ranges
    assert probe.hints == (HINTS,)


@pytest.mark.parametrize(
    ("values", "configured_ms", "lag_ms", "loses_end"),
    [
        (PERIODIC, None, 15_000, True),
        ({"commitlog_sync": "periodic", "commitlog_sync_period": "100ms"}, None, 1000, True),
        ({"commitlog_sync": "periodic"}, None, 15_000, True),
        ({"commitlog_sync": "batch"}, None, 0, False),
        ({"commitlog_sync": "group", "commitlog_sync_group_window": "1s"}, None, 0, False),
        (PERIODIC, 60_000, 60_000, True),
    ],
)
def test_sync_lag_follows_settings_of_node(
    values: Mapping[str, str], configured_ms: int | None, lag_ms: int, loses_end: bool
) -> None:
    probe = NodeProber(Node(settings=values), None, configured_ms).probe()
    assert (probe.sync_lag_ms, probe.loses_end) == (lag_ms, loses_end)


def test_configured_settings_replace_unreadable_node_settings() -> None:
    node = Node(settings=None)
    assert NodeProber(node, settings(commitlog_sync="batch"), None).probe().sync_lag_ms == 0
    with pytest.raises(AccessDeniedError):
        NodeProber(node, None, None).probe()


def test_settings_are_reread_after_node_restart() -> None:
    node = Node(settings=PERIODIC)
    prober = NodeProber(node, None, None)
    prober.probe()
    node.settings = {"commitlog_sync": "batch"}
    assert prober.probe().sync_lag_ms == 15_000
    node.generation = 2
    assert prober.probe().sync_lag_ms == 0


def test_hints_without_permission_are_unknown_and_queried_once() -> None:
    node = Node(settings=PERIODIC)
    node.may_read_hints = False
    prober = NodeProber(node, None, None)
    assert [prober.probe().hints, prober.probe().hints] == [None, None]
    assert sum("pending_hints" in query for query in node.queries) == 1


def test_hints_are_not_queried_before_release_4_1() -> None:
    node = Node("4.0.19", settings=PERIODIC)
    assert NodeProber(node, None, None).probe().hints is None
    assert not any("pending_hints" in query for query in node.queries)


def test_watermarks_are_rejected_before_release_4_0() -> None:
    with pytest.raises(ConfigError, match=r"Cassandra 3\.11\.19 moves a segment"):
        NodeProber(Node("3.11.19"), None, None).probe()


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


def test_each_probe_request_returns_one_result() -> None:
    prober, done = Prober(), threading.Event()
    watch = NodeWatch(cast(Any, prober), done.set)
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
