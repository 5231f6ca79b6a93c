"""A registry that is unavailable, answers late, or rejects schemas while changes arrive."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from agent.cdc_raw.names import SegmentName, parse_log_name
from agent.pipeline.reader import open_with
from agent.quarantine.entries import request_retry
from commitlog import EventFormat, Schema
from sidecar.encoding import SchemaIds
from sidecar.errors import AccessDeniedError, UnavailableError
from sidecar.schema_registry.client import SchemaRejectedError
from sidecar.schema_registry.registrar import Registrar, RegistrationStatus, Subjects
from sidecar.schema_registry.settings import Strategy
from tests.support.agents.agent_directory import OTHER_ID, SCHEMA, TABLE_ID, payload, write_segment
from tests.support.pipeline.harness import PipelineHarness

HOLD_MAX_MS = 30_000
ASK_AGAIN_S = 60
LOOK_S = 5
"""Interval of the quarantine scan."""
BOTH = SCHEMA + SCHEMA.replace("ks.t", "ks.other").replace(str(TABLE_ID), str(OTHER_ID))
EVENTS = 20


class Registry:
    """Returns ids in turn, unless a test sets another behaviour for a subject."""

    def __init__(self) -> None:
        self.ids: dict[tuple[str, str], int] = {}
        self.asked = 0
        self.mood: Callable[[str], None] = lambda subject: None

    def has_schema(self, number: int, schema: str) -> bool:
        return True

    def schema_id(self, subject: str, schema: str) -> int:
        self.asked += 1
        self.mood(subject)
        return self.ids.setdefault((subject, schema), len(self.ids) + 7)


class Place:
    """Pipeline with Avro events, and its registry."""

    def __init__(self, folder: Path) -> None:
        self.registry = Registry()
        self.folder = folder
        self.ids = SchemaIds()
        self.harness = PipelineHarness(
            folder,
            schema=Schema.from_cql(BOTH),
            blocked_timeout_ms=HOLD_MAX_MS,
            open_reader=open_with(self.format()),
            registrar=self.registrar(),
            quarantine_max_bytes=100_000_000,
        )

    def format(self) -> EventFormat:
        return EventFormat(
            topic_prefix="demo",
            cluster="lab",
            node_id="node-1",
            key="avro",
            value="avro",
            schema_ids=self.ids,
        )

    def registrar(self) -> Registrar:
        side = Subjects(cast(Any, self.registry), Strategy.TOPIC)
        return Registrar(self.ids, {"key": side, "value": side})

    def write(self, number: int = 1) -> None:
        """Add a segment with alternating rows of two tables, and read as far as possible."""
        rows = [payload(i, b"x", (TABLE_ID, OTHER_ID)[i % 2]) for i in range(EVENTS)]
        write_segment(self.harness.raw.directory, number, [rows])
        self.harness.settle()

    def abandon(self) -> None:
        """The registry rejects one of the tables until the timeout."""
        self.registry.mood = refuse_other
        self.write()
        self.harness.pass_time(HOLD_MAX_MS / 1000 + 1)
        assert "CommitLog-7-1.log" in self.harness.quarantined()

    def retry(self, *numbers: int) -> None:
        """Like `agent quarantine retry` beside a running agent."""
        names = [segment_name(f"CommitLog-7-{number}.log") for number in numbers]
        request_retry(self.harness.quarantine.directory, names)
        self.harness.pass_time(LOOK_S)

    def kill(self) -> None:
        """The process forgets its ids; the registry still knows them."""
        self.ids = SchemaIds()
        self.harness.open_reader = open_with(self.format())
        self.harness.registrar = self.registrar()
        self.harness.end()
        self.harness.start()

    @property
    def blocked_by(self) -> str:
        """Message of the status page; empty while nothing blocks."""
        blocked = self.harness.pipeline.view.blocked
        return "" if blocked is None else blocked.message

    @property
    def quarantined(self) -> int:
        return self.harness.pipeline.view.quarantine.segments

    @property
    def delivered(self) -> list[str]:
        return [message[0] for _, message in self.harness.sink.messages]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    place.harness.pipeline.loop.close(0)


def segment_name(text: str) -> SegmentName:
    name = parse_log_name(text)
    assert name is not None
    return name


def taking(subject: str) -> None:
    """Accept every schema."""


def refuse_other(subject: str) -> None:
    if subject == "demo.ks.other-value":
        raise SchemaRejectedError(
            "the schema registry rejects the schema of demo.ks.other-value: 409: no"
        )


def away(subject: str) -> None:
    raise UnavailableError(
        "the schema registry is unavailable: http://r:8081 does not answer: refused"
    )


def test_schemas_are_registered_before_the_first_event(place: Place) -> None:
    place.write()
    assert len(place.delivered) == EVENTS
    assert {subject for subject, _ in place.registry.ids} == {
        f"demo.ks.{table}-{side}" for table in ("t", "other") for side in ("key", "value")
    }
    assert place.registry.asked == 4
    for _, (_, key, value, _, _) in place.harness.sink.messages:
        assert value is not None
        assert key[0] == value[0] == 0
        assert int.from_bytes(key[1:5], "big") in place.registry.ids.values()


def test_events_wait_indefinitely_for_an_unavailable_registry(place: Place) -> None:
    place.registry.mood = away
    place.write()
    for _ in range(5):
        place.harness.pass_time(HOLD_MAX_MS / 1000)
    assert place.delivered == []
    assert "the schema registry is unavailable: http://r:8081" in place.blocked_by
    assert place.quarantined == 0
    place.registry.mood = taking
    place.harness.pass_time(1)
    assert len(place.delivered) == EVENTS
    assert place.blocked_by == ""


def test_kill_during_a_registry_outage_loses_nothing(place: Place) -> None:
    def half_away(subject: str) -> None:
        if "other" in subject:
            away(subject)

    place.registry.mood = half_away
    place.write()
    place.kill()
    place.harness.settle()
    place.registry.mood = taking
    place.harness.pass_time(1)
    assert set(place.delivered) == {"demo.ks.t", "demo.ks.other"}
    assert place.delivered.count("demo.ks.other") == EVENTS // 2


def test_rejected_schema_quarantines_its_segment_after_the_timeout(place: Place) -> None:
    place.registry.mood = refuse_other
    place.write()
    assert "rejects the schema of demo.ks.other-value: 409" in place.blocked_by
    place.harness.pass_time(HOLD_MAX_MS / 1000 - 1)
    assert place.blocked_by
    place.harness.pass_time(2)
    assert place.delivered.count("demo.ks.t") == EVENTS // 2
    assert "demo.ks.other" not in place.delivered
    assert "CommitLog-7-1.log" in place.harness.quarantined()


def test_schema_accepted_within_the_timeout_loses_nothing(place: Place) -> None:
    place.registry.mood = refuse_other
    place.write()
    place.harness.pass_time(HOLD_MAX_MS / 2000)
    place.registry.mood = taking
    place.harness.pass_time(1)
    assert len(place.delivered) == EVENTS
    assert place.quarantined == 0


def test_abandoned_table_is_registered_after_the_retry_interval(place: Place) -> None:
    """An operator changes the compatibility of the subject, and restarts nothing."""
    place.abandon()
    asked = place.registry.asked
    place.registry.mood = taking
    place.write(2)
    assert place.registry.asked == asked
    assert place.delivered.count("demo.ks.t") == EVENTS
    assert "demo.ks.other" not in place.delivered
    place.harness.pass_time(ASK_AGAIN_S)
    place.write(3)
    assert place.delivered.count("demo.ks.other") == EVENTS // 2
    assert place.quarantined == 2
    place.retry(1, 2)
    assert place.delivered.count("demo.ks.other") == 3 * EVENTS // 2
    assert place.quarantined == 0


def test_requeued_segments_skip_the_retry_interval(place: Place) -> None:
    place.abandon()
    place.registry.mood = taking
    place.retry(1)
    assert place.delivered.count("demo.ks.other") == EVENTS // 2
    assert place.quarantined == 0


def test_rejected_table_does_not_block_a_second_time(place: Place) -> None:
    place.abandon()
    asked = place.registry.asked
    place.harness.pass_time(ASK_AGAIN_S)
    place.write(2)
    assert place.registry.asked == asked + 1
    assert place.blocked_by == ""
    assert place.delivered.count("demo.ks.t") == EVENTS
    assert {"CommitLog-7-1.log", "CommitLog-7-2.log"} <= place.harness.quarantined()


def test_abandoned_table_waits_for_an_unavailable_registry(place: Place) -> None:
    place.abandon()
    place.harness.pass_time(ASK_AGAIN_S)
    place.registry.mood = away
    place.write(2)
    place.harness.pass_time(10 * HOLD_MAX_MS / 1000)
    assert place.blocked_by
    assert "CommitLog-7-2.log" not in place.harness.quarantined()
    place.registry.mood = taking
    place.harness.pass_time(1)
    assert place.delivered.count("demo.ks.other") == EVENTS // 2


def test_access_denied_by_the_registry_ends_the_process(place: Place) -> None:
    def refuse(subject: str) -> None:
        raise AccessDeniedError("The schema registry denies access: 401")

    place.registry.mood = refuse
    with pytest.raises(AccessDeniedError, match="401"):
        place.write()
    registrar = place.harness.registrar
    assert registrar is not None
    assert registrar.last.status is RegistrationStatus.REJECTED
