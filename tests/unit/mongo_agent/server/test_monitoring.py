"""Slow failures are detected before they cause a loss."""

import pytest

from mongo_agent.documents import ClusterTime
from mongo_agent.metrics import MongoMetrics
from mongo_agent.server.monitoring import (
    ElectionCounter,
    OplogMonitor,
    StreamLag,
    StreamTimes,
    WarningThresholds,
    stream_lag,
    stream_warning,
)
from sidecar.metrics import DeliveryMetrics

WARNINGS = WarningThresholds(headroom_ms=3_600_000, stall_ms=60_000, lag_ms=60_000)
WELL = StreamLag(headroom_s=90_000, stalled_s=2.0, behind_s=1.0)


def test_stream_lag_is_computed_from_times() -> None:
    times = StreamTimes(ClusterTime(1000, 1), ClusterTime(1600, 1), moved_at_s=50.0)
    assert stream_lag(times, ClusterTime(400, 7), 55.0, 1601.5) == StreamLag(600, 5.0, 1.5)
    assert stream_lag(times, None, 55.0, 1599.0) == StreamLag(None, 5.0, 0.0)


@pytest.mark.parametrize(
    ("findings", "part"),
    [
        (WELL, ""),
        (StreamLag(3599, 2.0, 3600.0), "3599 s older than the stored offset"),
        (StreamLag(30, 2.0, 1.0), ""),
        (StreamLag(-5, 2.0, 1.0), "the oplog starts 5 s after the stored offset"),
        (StreamLag(90_000, 61.0, 61.0), "`rs.status()`"),
        (StreamLag(90_000, 2.0, 61.0), "61 s behind"),
        (StreamLag(None, 2.0, 1.0), ""),
    ],
)
def test_stream_warning_reports_worst_finding(findings: StreamLag, part: str) -> None:
    worst = stream_warning(findings, WARNINGS)
    assert (worst is not None) == bool(part)
    assert worst is None or part in worst.sentence
    assert stream_warning(findings, WarningThresholds(0, 0, 0)) is None


def test_short_limits_shorten_check_interval() -> None:
    assert WARNINGS.interval_s == 10.0
    assert WarningThresholds(0, 400, 60_000).interval_s == 0.1
    assert WarningThresholds(0, 0, 0).interval_s == 10.0


def test_stalled_stream_is_reported() -> None:
    now_s = 0.0
    read = ClusterTime(2_000_000_000, 1)
    watch = OplogMonitor(
        lambda: ClusterTime(1_999_000_000, 1),
        lambda: {"": (read, read)},
        WARNINGS,
        ElectionCounter(),
        clock=lambda: now_s,
    )
    watch.check()
    assert watch.warnings() == {}
    now_s = 61.0
    watch.check()
    assert "has not advanced for 61 s" in watch.warnings()[""].sentence
    read = ClusterTime(2_000_000_010, 1)
    watch.check()
    assert watch.warnings() == {}
    assert watch.details("")["oplog_headroom_s"] == 1_000_010
    metrics = MongoMetrics(DeliveryMetrics("test", "0"))
    watch.set_gauges(metrics)
    assert b'cdc_oplog_headroom_seconds{stream=""} 1.00001e+06' in metrics.delivery.render()
