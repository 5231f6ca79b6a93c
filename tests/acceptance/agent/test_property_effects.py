"""Observable effects of Debezium's properties.

tests/unit/agent/config/test_debezium_properties.py lists the tests of all other properties.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.oracle import writer
from tests.oracle.reference import parse_schema
from tests.oracle.reference.model import Cell, Deletion, Liveness, PartitionUpdate, Row
from tests.oracle.writer import Form, segment, write_mutation
from tests.support.agents import running_agent
from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.agents.agent_health import page
from tests.support.agents.agent_thread import delivered, running


def topics(agent_dir: AgentDir) -> list[str]:
    return [json.loads(line)["topic"] for line in agent_dir.events.read_bytes().splitlines()]


@pytest.mark.parametrize("name", ["topic.prefix", "kafka.topic.prefix"])
def test_topic_names_start_with_the_prefix(agent_dir: AgentDir, name: str) -> None:
    write_segment(agent_dir.cdc_raw, 1, [[payload(1)]])
    delivered(agent_dir, {"topic.prefix": None, name: "orders-2"})
    assert topics(agent_dir) == ["orders-2.ks.t"]


def test_disabled_post_processing_overrides_the_transfer_class(
    agent_dir: AgentDir,
) -> None:
    path = write_segment(agent_dir.cdc_raw, 1, [[payload(1)]])
    blackhole = "io.debezium.connector.cassandra.BlackHoleCommitLogTransfer"
    delivered(
        agent_dir,
        {"commit.log.transfer.class": blackhole, "commit.log.post.processing.enabled": "false"},
    )
    assert (agent_dir.relocation / "archive" / path.name).exists()


def test_latest_commit_log_only_still_reads_all_segments(agent_dir: AgentDir) -> None:
    for number in (1, 2, 3):
        write_segment(agent_dir.cdc_raw, number, [[payload(number)]])
    log = delivered(agent_dir, {"latest.commit.log.only": "true"})
    assert len(topics(agent_dir)) == 3
    assert "`latest.commit.log.only`" in log
    assert "the agent reads all segments" in log


@pytest.mark.parametrize(("interval_ms", "is_saved"), [("0", True), ("3600000", False)])
def test_offsets_are_flushed_at_the_configured_interval(
    agent_dir: AgentDir, interval_ms: str, is_saved: bool
) -> None:
    """The agent delivers a live segment up to its index, and is then killed."""
    path = write_segment(agent_dir.cdc_raw, 1, [[payload(1)], [payload(2)]], idx=None)
    index = path.with_name(f"{path.stem}_cdc.idx")
    ends = (len(segment([[payload(1)]], 7, 1)), path.stat().st_size)
    stored = agent_dir.offsets / "segment_offset.properties"
    changes = {"offset.flush.interval.ms": interval_ms}

    def text() -> str:
        return stored.read_text() if stored.exists() else ""

    def is_stored_anew(before: str) -> bool:
        return path.name in text() and text() != before

    with running_agent.running(agent_dir, changes) as process:
        for count, end in enumerate(ends, start=1):
            before = text()
            index.write_text(f"{end}\n")
            process.wait_until("the event", partial(has_events, agent_dir, count))
            if count == 1 or is_saved:
                # The agent stores the first offset at once, regardless of the interval.
                process.wait_until("the save", partial(is_stored_anew, before))
    # Leaving the block killed the agent.
    index.write_text(f"{ends[-1]}\nCOMPLETED\n")
    delivered(agent_dir, changes)
    assert has_events(agent_dir, 2 if is_saved else 3)


def has_events(agent_dir: AgentDir, count: int) -> bool:
    return agent_dir.events.exists() and len(topics(agent_dir)) == count


def test_custom_tags_become_debezium_metric_labels(agent_dir: AgentDir) -> None:
    with running(agent_dir, {"custom.metric.tags": "env=lab, the-team=data base"}) as process:
        process.wait_until("an answer", lambda: process.health() is not None)
        text = page(process, "metrics/jmx")
        assert process.stop() == 0
    labels = 'context="streaming",env="lab",name="demo",plugin="cassandra",the_team="data base"'
    assert f"debezium_metrics_CommitLogPosition{{{labels}}}" in text


TIME_US = 1_795_000_000_000_000
DDL = """CREATE TABLE ks.t (k int, c int, d decimal, n varint, u duration, secret text,
    "odd-name" text, PRIMARY KEY (k, c))
  WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c18 AND cdc = true;"""
MODES = {
    "decimal.handling.mode": "string",
    "varint.handling.mode": "string",
    "duration.handling.mode": "precise",
    "field.exclude.list": "ks.t.secret",
    "field.name.adjustment.mode": "avro",
    "tombstones.on.delete": "true",
}
JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
STRING_CONVERTER = "org.apache.kafka.connect.storage.StringConverter"


def write_and_delete(agent_dir: AgentDir) -> None:
    """Row with every column, and its deletion."""
    agent_dir.schema.write_text(DDL)
    (table,) = parse_schema(DDL).tables.values()
    values = {
        "d": b"\0\0\0\2" + (12345).to_bytes(2),
        "n": (7).to_bytes(1),
        # Zigzag: 1 month, 2 days, 3 ns.
        "u": b"\2\4\6",
        "secret": b"hunter2",
        "odd-name": b"x",
    }
    cells = tuple(Cell(name, None, TIME_US, None, None, values[name]) for name in values)
    place = (b"\0\0\0\3",)
    written = Row(place, Liveness(TIME_US, None, None), None, False, (), cells)
    deleted = Row(place, None, Deletion(TIME_US + 1, TIME_US // 1_000_000), False, (), ())
    payloads = [
        write_mutation([PartitionUpdate(table, b"\0\0\0\7", None, None, (row,))], Form(version=7))
        for row in (written, deleted)
    ]
    path = agent_dir.cdc_raw / "CommitLog-7-1.log"
    data = writer.write_segment([payloads], version=7, segment_id=1).data
    path.write_bytes(data)
    path.with_name("CommitLog-7-1_cdc.idx").write_text(f"{len(data)}\nCOMPLETED\n")


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def test_modes_exclusions_names_and_tombstones_take_effect(agent_dir: AgentDir) -> None:
    write_and_delete(agent_dir)
    delivered(agent_dir, MODES)
    written, deleted, tombstone = lines(agent_dir.events)
    after = written["value"]["after"]
    assert (after["d"]["value"], after["n"]["value"]) == ("123.45", "7")
    assert after["u"]["value"] == {"months": 1, "days": 2, "nanoseconds": 3}
    assert after["odd_name"]["value"] == "x"
    assert b"hunter2" not in agent_dir.events.read_bytes()
    assert deleted["value"]["op"] == "d"
    assert tombstone["value"] is None
    assert tombstone["key"] == deleted["key"] == written["key"]


def test_string_and_json_converters_write_messages(agent_dir: AgentDir) -> None:
    write_and_delete(agent_dir)
    delivered(
        agent_dir, MODES | {"key.converter": STRING_CONVERTER, "value.converter": JSON_CONVERTER}
    )
    written, deleted, tombstone = lines(agent_dir.events)
    assert written["key"] == "Struct{k=7,c=3}"
    names = [field["field"] for field in written["value"]["schema"]["fields"]]
    assert set(names) == written["value"]["payload"].keys()
    assert written["value"]["payload"]["after"]["d"]["value"] == "123.45"
    assert deleted["value"]["payload"]["op"] == "d"
    assert tombstone["value"] is None
