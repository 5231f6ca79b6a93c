"""Everything that the MongoDB agent does not deliver has a WARNING with its reason, a metric, a
record and a condition with a remedy, or a documented property causes it. The tables below are
complete: the tests compare them with metric labels, failure classes and the parser's source. No
server is needed."""

import re
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import bson
import pytest

from mongo_agent import metrics
from mongo_agent.change_stream.position import Opening, StreamPosition
from mongo_agent.change_stream.reader import StreamBatch
from mongo_agent.change_stream.recovery import RecoveryPolicy, Reopen, recovery
from mongo_agent.config.model import MongoProperties
from mongo_agent.dead_letters import DeadLetterWriter, LostTimeRange, Quarantine, Usage
from mongo_agent.documents import ClusterTime
from mongo_agent.encoder import ChangeEvents
from mongo_agent.metrics import MongoMetrics
from mongo_agent.offsets import StreamOffset
from mongo_agent.pipeline.stream import Stream
from mongo_agent.server.errors import Failure
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.snapshotter import Snapshotter
from mongo_agent.status.conditions import Facts, conditions_of
from sidecar.dead_letters.dead_letter import DeadLetter
from sidecar.errors import SidecarError
from sidecar.metrics import DeliveryMetrics
from sidecar.properties.model import declarations
from tests.support.mongodb.given_streams import ENCODER, GivenReader, idle_snapshotter

PARSER = Path(__file__).parents[3] / "mongo_agent" / "encoder" / "src"
STREAM = StreamPosition({"_data": "82000000050000000129"}, ClusterTime(5, 1), "f", "rs0")
ROOM = 1 << 20


class StreamHarness:
    """A stream with a quarantine: both decide about an event that cannot be sent."""

    def __init__(self, folder: Path, snapshotter: Snapshotter) -> None:
        self.metrics = MongoMetrics(DeliveryMetrics("mongo-agent", "1"))
        self.quarantine = Quarantine(folder / "quarantine", ROOM, "1")
        self.snapshotter = snapshotter
        self.placed = 0

    def dead_letters(self, *, ends_agent: bool = False) -> DeadLetterWriter:
        return DeadLetterWriter(self.quarantine, self.metrics, ends_agent=ends_agent)

    def read(
        self,
        *events: bytes,
        lost: LostTimeRange | None = None,
        left_out: int = 0,
        ends_agent: bool = False,
    ) -> bool:
        read = StreamBatch(
            ChangeEvents(events),
            ENCODER.encode(events),
            STREAM,
            None,
            ClusterTime(5, 1),
            ClusterTime(5, 1),
            lost,
            left_out,
        )

        def place(*words: object) -> None:
            self.placed += 1

        stream = Stream(
            "",
            GivenReader(read),
            self.snapshotter,
            StreamOffset(STREAM, None, SnapshotProgress()),
            add=place,
            dead_letters=self.dead_letters(ends_agent=ends_agent),
            signal_collection=None,
            metrics=self.metrics,
        )
        return stream.tick()

    @property
    def usage(self) -> Usage:
        return self.quarantine.usage()


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[StreamHarness]:
    with idle_snapshotter() as snapshotter:
        yield StreamHarness(tmp_path, snapshotter)


BROKEN = bson.encode({"_id": {"_data": "82000000050000000129"}, "operationType": "insert"})
"""Insert without a collection."""


def unreadable(harness: StreamHarness) -> None:
    assert harness.read(BROKEN)


def rejected(harness: StreamHarness) -> None:
    assert harness.dead_letters().keep(DeadLetter("p.shop.a", b"1", b"2", (), "message too large"))


def gap(harness: StreamHarness) -> None:
    assert harness.read(lost=LostTimeRange(STREAM.values(), "the oplog is short"))


# By the label `reason` of cdc_quarantined_total: the cause, and the condition.
LOST: dict[str, tuple[Callable[[StreamHarness], None], str]] = {
    metrics.UNREADABLE: (unreadable, "event_rejected"),
    metrics.REJECTED_BY_SINK: (rejected, "event_rejected"),
    metrics.GAP: (gap, "changes_lost"),
}
# By the label `reason` of cdc_skipped_events_total: the property that causes it.
SKIPPED = {
    "not captured": "collection.include.list",
    "an operation's name": "skipped.operations",
    "an operation that is no document's": "topic.schema.changes",
    metrics.TOO_LARGE: "cursor.oversize.handling.mode",
}


@pytest.mark.parametrize("reason", LOST)
def test_undelivered_event_has_warning_metric_and_condition(
    reason: str, harness: StreamHarness, caplog: pytest.LogCaptureFixture
) -> None:
    produce, code = LOST[reason]
    produce(harness)
    warned = [record for record in caplog.records if record.levelno >= 30]
    assert len(warned) == 1
    assert vars(warned[0])["sidecar_fields"]["reason"]
    assert harness.metrics.quarantined.labels(reason)._value.get() == 1
    (condition,) = conditions_of(Facts(quarantine=harness.usage))
    assert condition.code == code
    assert condition.remedy.endswith(".")


@pytest.mark.parametrize("reason", LOST)
def test_full_quarantine_blocks_delivery_and_fails_the_agent(
    reason: str, harness: StreamHarness, caplog: pytest.LogCaptureFixture
) -> None:
    harness.quarantine.max_bytes = 0
    dead_letters = harness.dead_letters()
    kept = {
        metrics.UNREADABLE: lambda: harness.read(BROKEN),
        metrics.REJECTED_BY_SINK: lambda: dead_letters.keep(DeadLetter("t", b"", b"", (), "large")),
        metrics.GAP: lambda: harness.read(lost=LostTimeRange(STREAM.values(), "short")),
    }[reason]()
    assert not kept
    assert harness.placed == 0, "nothing behind it moves"
    assert [record.levelname for record in caplog.records].count("WARNING") == 1
    assert "raise quarantine.max.bytes" in caplog.text
    (condition,) = conditions_of(Facts(record_error="The quarantine is full."))
    assert (condition.code, condition.state.name) == ("quarantine_not_writable", "FAILING")


def test_loss_reasons_match_the_table(harness: StreamHarness) -> None:
    labels = {
        sample.labels["reason"]
        for family in harness.metrics.quarantined.collect()
        for sample in family.samples
        if sample.name.endswith("_total")
    }
    assert labels == set(LOST) == set(metrics.REASONS)


def test_skip_reasons_match_the_table() -> None:
    """The parser skips events in three places, the stream in one."""
    source = (PARSER / "batch_builder" / "mod.rs").read_text(encoding="utf-8")
    assert re.findall(r"self\.skip\(\s*([^,]+),", source) == [
        "reason",
        "&operation",
        "NOT_CAPTURED",
    ]
    (body,) = re.findall(r"fn reason_to_skip\(.*?\n    }", source, re.DOTALL)
    assert re.findall(r"Some\(([^)]*\)?)\)", body) == ["NOT_CAPTURED", "operation.name()"]
    constant = re.search(r'NOT_CAPTURED: &str = "([^"]+)"', (PARSER / "batch.rs").read_text())
    assert constant is not None
    assert constant[1] in SKIPPED


@pytest.mark.parametrize("name", SKIPPED.values())
def test_properties_that_skip_events_are_documented(name: str) -> None:
    documented = {
        declaration.name: declaration for _, _, declaration in declarations(MongoProperties)
    }
    assert documented[name].doc


def test_oversized_skipped_change_is_a_warning(
    harness: StreamHarness, caplog: pytest.LogCaptureFixture
) -> None:
    assert harness.read(left_out=2)
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "cursor.oversize.handling.mode" in record.getMessage()
    assert harness.metrics.skipped_events.labels(metrics.TOO_LARGE)._value.get() == 2


@pytest.mark.parametrize("reason", [metrics.UNREADABLE, metrics.REJECTED_BY_SINK])
def test_error_ending_the_agent_contains_the_property(reason: str, harness: StreamHarness) -> None:
    with pytest.raises(SidecarError) as raised:
        if reason == metrics.UNREADABLE:
            harness.read(BROKEN, ends_agent=True)
        else:
            harness.dead_letters(ends_agent=True).keep(DeadLetter("t", b"", b"", (), "too large"))
    assert "`event.processing.failure.handling.mode=quarantine`" in str(raised.value)
    assert harness.usage == Usage()


# What the operator sees if a stream ends or continues with a gap. None: the stream resumes without
# loss.
ENDS: dict[Failure | None, tuple[str, ...]] = {
    None: (),
    Failure.RESUMABLE: (),
    Failure.AUTHENTICATION: ("mongodb.user", "mongodb.password", "mongodb.authsource"),
    Failure.AUTHORISATION: ("mongo-agent check", "grants it"),
    Failure.HISTORY_LOST: ("history.lost.policy=resnapshot", "replSetResizeOplog"),
    Failure.FILTERED_TOKEN: (),
    Failure.TOO_LARGE: ("cursor.",),
    Failure.MEMORY_LIMIT: ("internalQueryMaxMemoryUsageBytesPerOperation",),
    Failure.INVALID_TOKEN: ("history.lost.policy=resnapshot",),
    Failure.NOT_SUPPORTED: ("--replSet rs0", "rs.initiate()"),
    Failure.OTHER: (),
}
RULES = [
    RecoveryPolicy(history, oversize, waits, server)  # type: ignore[arg-type]
    for history, oversize, waits, server in product(
        ("fail", "resnapshot", "skip"),
        ("fail", "skip", "split"),
        (False, True),
        ("split", "measure", "none"),
    )
]


def test_failure_classes_match_the_table() -> None:
    assert set(ENDS) == {None, *Failure}


@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize("failure", ENDS, ids=str)
def test_failed_stream_reports_a_remedy_or_records_the_gap(
    failure: Failure | None, rules: RecoveryPolicy
) -> None:
    found = recovery(
        failure, "the server's words", Opening(start_after=STREAM.token), STREAM, rules
    )
    if isinstance(found, SidecarError):
        for part in ENDS[failure]:
            assert part in str(found)
        assert ENDS[failure], f"{failure} ends the agent: the table names the remedy"
        return
    assert isinstance(found, Reopen)
    if found.is_access_denied:
        assert all(part in found.message for part in ENDS[failure])
    begins_anew = found.opening.start_after is None and found.opening.from_time is None
    # A stream that starts at the present time leaves a gap, which is recorded.
    assert begins_anew == (found.lost is not None)
    if found.lost is not None:
        assert rules.history_lost in ("skip", "resnapshot")
        assert found.lost.since == STREAM.values()
        assert found.lost.is_resnapshot == (rules.history_lost == "resnapshot")
