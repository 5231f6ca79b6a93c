"""The status page and Debezium's attributes for the MongoDB agent, without a server."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import pytest

from mongo_agent.change_stream.position import StreamPosition
from mongo_agent.dead_letters import Usage
from mongo_agent.documents import ClusterTime
from mongo_agent.metrics import MongoMetrics
from mongo_agent.offsets import AgentOffsets, StreamOffset
from mongo_agent.pipeline.pipeline import Pipeline
from mongo_agent.pipeline.view import View
from mongo_agent.server.monitoring import OplogMonitor, StreamWarning
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.view import CollectionView, SnapshotView, view_of
from mongo_agent.status.debezium import attributes_of
from mongo_agent.status.summary import MongoSummaryParts
from mongo_agent.status.view import MongoStatus
from sidecar.metrics import DeliveryMetrics
from sidecar.page.summary import AgentSummary, Summary
from sidecar.sinks.base import SinkState
from sidecar.status.publisher import DeliveryView
from tests.support.mongodb.given_streams import stream_view

NOW_S = 1_000.0
POSITION = StreamOffset(StreamPosition({}, ClusterTime(990, 1), "", "rs"), None, SnapshotProgress())
QUIET = view_of(SnapshotProgress())
COPYING = replace(
    QUIET,
    is_running=True,
    remaining_collections=1,
    collections=(
        CollectionView("shop.old", "copied", "initial", 7, 1),
        CollectionView("shop.a", "copying", "initial", 25, 2, estimated=100, percent=25.0),
    ),
)


@dataclass(frozen=True)
class Looked:
    """The parts of a pipeline that the status reads."""

    view: View
    last_tick_s: float = NOW_S


class NoWatch:
    """An oplog monitor before its first check."""

    def details(self, stream: str) -> dict[str, object]:
        return {}

    def warnings(self) -> dict[str, StreamWarning]:
        return {}


def view(copies: SnapshotView = QUIET, *, is_open: bool = True, waiting: int = 0) -> View:
    stream = stream_view(closed="" if is_open else "no primary answers", snapshot=copies)
    position = AgentOffsets({"": POSITION})
    sink = SinkState(True, "events go through")
    return View(
        position,
        position,
        DeliveryView(sink, unacknowledged_events=waiting),
        (stream,),
        lag_s=waiting * 2.0,
    )


def metrics() -> MongoMetrics:
    made = MongoMetrics(DeliveryMetrics("mongo", "1.2.3"))
    made.events.labels("shop.a", "insert").inc(3)
    made.events.labels("shop.a", "read").inc(25)
    return made


def summary(shown: View | None) -> tuple[Summary, str]:
    """The page's summary and its headline."""
    counted = metrics()
    status = MongoStatus("1.2.3", counted, 500, clock=lambda: NOW_S)
    if shown is not None:
        status.attach(cast(Pipeline, Looked(shown)), cast(OplogMonitor, NoWatch()))
    health = status.health()
    made = AgentSummary(
        lambda: status.view,
        MongoSummaryParts(wall_clock=lambda: NOW_S),
        events=(counted.events,),
        quarantined=counted.quarantined,
        quarantine_max_bytes=500,
    )
    return made(health), health.message


@pytest.mark.parametrize(
    ("shown", "state", "words"),
    [
        (None, "starting", "The agent is starting and does not deliver events yet."),
        (view(), "ok", "All changes that the server has reported are delivered."),
        (view(COPYING), "ok", "Snapshots of 1 collections are running."),
        (view(waiting=3), "ok", "3 wait for the sink"),
        (view(waiting=90), "late", "3 min old"),
        (view(is_open=False), "failing", "no primary answers"),
    ],
)
def test_summary_headline_reflects_state(shown: View | None, state: str, words: str) -> None:
    told, message = summary(shown)
    assert told.state == state
    assert words in message


def test_summary_lists_streams_snapshots_and_counts() -> None:
    told, _ = summary(view(COPYING))
    assert [(bar.name, bar.state, bar.size) for bar in told.progress] == [("stream", "reading", 0)]
    assert told.progress[0].note == "position 5 s old; an idle server advances it every 10 s"
    assert [(each.name, each.state, each.share) for each in told.snapshots] == [
        ("shop.old", "copied", 1.0),
        ("shop.a", "copying", 0.25),
    ]
    assert told.counts[0].by_kind == {"inserts": 3, "snapshot reads": 25}
    assert told.counts[0].topic == "shop.a"


def test_debezium_attributes_are_empty_before_start() -> None:
    assert attributes_of(None, metrics()) == {}
    told = attributes_of(view(), metrics())
    assert told["streaming"]["TotalNumberOfCreateEventsSeen"] == 3
    assert told["streaming"]["TotalNumberOfReadEventsSeen"] == 0
    assert told["snapshot"]["TotalNumberOfReadEventsSeen"] == 25
    assert told["streaming"]["Connected"] is True


def test_summary_lists_quarantine_files_with_commands() -> None:
    parts = MongoSummaryParts("/var/lib/cdc/a b", [Path("/etc/mongo.properties")])
    assert parts.quarantine(view()).items == ()
    held = parts.quarantine(replace(view(), quarantine=Usage(9, dead_letters=1, gaps=2)))
    assert held.message == "2 lost time ranges and 1 dead letter."
    gaps, letters = held.items
    assert gaps.commands[0].command == (
        "mongo-agent snapshot start '.*' --config /etc/mongo.properties"
    )
    assert letters.commands[0].command == "less '/var/lib/cdc/a b/refused.ndjson'"
    assert letters.commands[1].command == (
        "mv -n '/var/lib/cdc/a b/refused.ndjson' '/var/lib/cdc/a b/refused-handled.ndjson'"
    )
