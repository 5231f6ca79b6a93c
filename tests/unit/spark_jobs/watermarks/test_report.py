"""Parsing of watermark messages, and the times that a node covers."""

import json

import pytest

from agent.watermark.coverage import Coverage, Gap, Holdings
from agent.watermark.message import Obstacle as SentObstacle
from spark_jobs.errors import InputError
from spark_jobs.watermarks.report import (
    Obstacle,
    ReplicatedRange,
    Span,
    latest_reports,
    report_from_json,
)
from tests.support.node.fake_watermarks import FakeWatermarkNode
from tests.support.pipeline.fakes import FakeClock
from tests.support.spark.watermark_reports import TABLE, WHOLE, report


def message(*, is_known: bool) -> str:
    """A message written by the agent's own code."""
    node = FakeWatermarkNode(FakeClock())
    node.request()
    probe = node.take()
    assert probe is not None and not isinstance(probe, Exception)
    coverage = Coverage(1, 9, 1, (Gap(2, 3),), Holdings().after(probe))
    obstacles = (SentObstacle("not_delivered", "it waits"),)
    sent = node.parts().sender.batch(
        10, coverage if is_known else None, probe if is_known else None, obstacles
    )
    ((_, _, value, _, _),) = sent.messages(0, 1)
    return (value or b"").decode()


def test_watermark_message_of_agent_is_read() -> None:
    found = report_from_json(message(is_known=True))
    assert (found.node_id, found.ts_ms, found.interval_ms) == ("node-1", 10, 10_000)
    assert (found.complete, found.gaps) == (Span(1, 9), (Span(2, 3),))
    assert found.obstacles == (Obstacle("not_delivered", "it waits"),)
    assert found.tables == {"ks.t": 1_000_000}
    assert found.ranges["ks"] == (ReplicatedRange(-(1 << 63), (1 << 63) - 1, 1_000_000),)
    assert found.hints == ()


def test_message_before_first_answer_covers_nothing() -> None:
    found = report_from_json(message(is_known=False))
    assert found.complete is None
    assert found.covered(TABLE, WHOLE[0]) == ()
    assert found.hints is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 1}', '{"version": 0}'])
def test_invalid_watermark_message_is_rejected(text: str) -> None:
    with pytest.raises(InputError, match=r"watermark\.topic"):
        report_from_json(text)


def test_later_message_version_with_further_members_is_read() -> None:
    document = json.loads(message(is_known=True)) | {"version": 2, "further": 1}
    assert report_from_json(json.dumps(document)).node_id == "node-1"


def test_gaps_split_covered_times() -> None:
    found = report("a", 100, since_ms=10, gaps=[(50, 60), (20, 30), (90, 200)])
    assert found.covered(TABLE, WHOLE[0]) == (Span(10, 20), Span(30, 50), Span(60, 90))
    # The agent covers a table and a range from the time when it knows them.
    found = report("a", 100, since_ms=10, table_since_ms=40)
    assert found.covered(TABLE, WHOLE[0]) == (Span(40, 100),)
    assert found.covered(TABLE, ReplicatedRange(0, 1, 70)) == (Span(70, 100),)
    assert found.covered("ks.other", WHOLE[0]) == ()


def test_last_report_of_each_node_counts() -> None:
    first, second = report("a", 1), report("a", 2)
    assert latest_reports([second, first, report("b", 1)]) == (second, report("b", 1))


def test_agent_is_silent_after_three_intervals() -> None:
    found = report("a", 100)
    assert not found.is_silent(130)
    assert found.is_silent(131)
