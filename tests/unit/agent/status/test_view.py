"""What a person sees over HTTP."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from agent.schema.write_options import Options, WriteOptions
from agent.status.view import HISTORY
from sidecar.health.condition import State
from tests.support.agents.status_harness import StatusHarness
from tests.support.node.fake_snapshot_node import FakeNode, running
from tests.support.servers.processes import wait_until


@pytest.fixture
def status_harness(tmp_path: Path) -> Iterator[StatusHarness]:
    (tmp_path / "status_harness").mkdir()
    with closing(StatusHarness(tmp_path / "status_harness")) as status_harness:
        yield status_harness


def test_before_the_schema_it_lives_and_is_not_ready(status_harness: StatusHarness) -> None:
    assert status_harness.status.live().ok
    assert not status_harness.status.ready().ok
    assert not status_harness.component("schema").ok
    assert status_harness.status.offsets() == {"stored": {}, "reached": {}, "segments": []}
    assert b"cdc_schema_tables 0.0" in status_harness.status.metrics()


def test_the_agent_names_itself_its_destination_and_its_uptime(
    status_harness: StatusHarness,
) -> None:
    status = status_harness.status
    known = replace(status.instance(), host="host-1", topic_prefix="shop")
    status.note_instance(known.located("lab", "node-1", "dc1", "r1"))
    status.note_configuration("kafka broker:9092", "0123456789ab")
    status_harness.harness.clock.advance(12.34)
    assert status.about() == {
        "instance": {
            "service": "cdc-sidecar-cassandra",
            "version": "1.2.3",
            "host": "host-1",
            "topic_prefix": "shop",
            "cluster": "lab",
            "node_id": "node-1",
            "datacenter": "dc1",
            "rack": "r1",
        },
        "uptime_s": 12.3,
        "destination": "kafka broker:9092",
        "configuration_fingerprint": "0123456789ab",
    }
    (line,) = (each for each in status.metrics().splitlines() if b"cdc_build_info{" in each)
    assert b'datacenter="dc1"' in line


def test_the_history_has_the_values_of_the_view(status_harness: StatusHarness) -> None:
    assert status_harness.status.sample() == {"status": 2}
    status_harness.begin()
    log = status_harness.harness.raw.segment(1, 2)
    status_harness.harness.raw.index(log, log.end)
    status_harness.harness.settle()
    sample = status_harness.status.sample()
    assert sample.keys() == {column.name for column in HISTORY}
    assert sample["unacknowledged_events"] == 2
    assert sample["cdc_raw_limit_bytes"] == 1000
    assert sample["cdc_raw_bytes"] > 0
    status_harness.harness.sink.acknowledge()
    status_harness.harness.settle()
    assert status_harness.status.sample()["events_per_s"] == 2


def test_all_is_well(status_harness: StatusHarness) -> None:
    status_harness.begin()
    log = status_harness.harness.raw.segment(1, 2)
    status_harness.harness.raw.index(log, log.end)
    status_harness.harness.settle()
    status_harness.harness.sink.acknowledge()
    status_harness.harness.settle()
    assert status_harness.status.live().ok
    assert status_harness.status.ready().ok
    assert all(part.ok for part in status_harness.status.health().components)
    assert {part.name for part in status_harness.status.health().components} == {
        "pipeline",
        "sink",
        "schema",
        "cdc_raw",
        "offsets",
        "quarantine",
    }
    offsets = status_harness.status.offsets()
    assert offsets["stored"] == {"node.id": "node-1", log.name.log: str(log.end)}
    assert offsets["reached"] == offsets["stored"]
    assert b"cdc_schema_tables 1.0" in status_harness.status.metrics()


def test_a_sink_that_is_away_is_not_ready(status_harness: StatusHarness) -> None:
    status_harness.begin()
    status_harness.harness.sink.go_away("no broker answers")
    status_harness.harness.pass_time(1)
    assert status_harness.status.live().ok
    assert not status_harness.status.ready().ok
    assert "no broker" in status_harness.component("sink").message


def test_a_blocked_segment_is_reported(status_harness: StatusHarness) -> None:
    status_harness.begin()
    status_harness.harness.raw.completed(1).add(1, table="ks.new")
    status_harness.harness.settle()
    held = [part for part in status_harness.status.health().components if not part.ok]
    assert ["ks.new is not known" in part.message for part in held] == [True]
    assert b"cdc_blocked 1.0" in status_harness.status.metrics()


def test_progress_that_cannot_be_saved_is_seen(status_harness: StatusHarness) -> None:
    status_harness.begin()
    status_harness.harness.raw.completed(1, 1)
    status_harness.harness.store.is_failing = True
    status_harness.harness.settle()
    status_harness.harness.sink.acknowledge()
    status_harness.harness.settle()
    assert not status_harness.component("offsets").ok
    assert "disk is full" in status_harness.component("offsets").message


def test_progress_of_copies_that_cannot_be_saved_is_seen(tmp_path: Path) -> None:
    with (
        running(FakeNode(), mode="never") as snapshot,
        closing(StatusHarness(tmp_path, snapshot)) as status_harness,
    ):
        status_harness.begin()
        status_harness.harness.snapshot_store.is_failing = True
        snapshot.start_table("ks.t")
        status_harness.harness.settle()
        assert not status_harness.component("snapshot").ok
        assert "disk is full" in status_harness.component("snapshot").message
        assert status_harness.component("offsets").ok
        status_harness.harness.snapshot_store.is_failing = False
        status_harness.harness.pass_time(2)
        assert status_harness.component("snapshot").ok


def test_full_quarantine_names_the_remedy(status_harness: StatusHarness) -> None:
    status_harness.begin()
    status_harness.harness.raw.completed(1).add(1, is_damaged=True)
    (status_harness.harness.quarantine.directory).mkdir(parents=True)
    (status_harness.harness.quarantine.directory / "filler").write_bytes(b"x" * 450)
    status_harness.harness.settle()
    assert not status_harness.component("quarantine").ok
    assert "quarantine.max.bytes" in status_harness.component("quarantine").message


def test_undelivered_events_stay_visible(status_harness: StatusHarness) -> None:
    """Also after a restart, which sets the counters to nothing."""
    status_harness.begin()
    assert status_harness.component("quarantine").message == "the quarantine is empty"
    status_harness.harness.raw.completed(1, 2).add(1, is_damaged=True)
    status_harness.harness.raw.completed(2, 2)
    status_harness.harness.settle()
    status_harness.harness.sink.acknowledge()
    status_harness.harness.pass_time(6)
    for _ in range(2):
        status_harness.status.attach(status_harness.harness.pipeline)
        codes = [each.code for each in status_harness.status.status().conditions]
        assert codes[-1] == "segment_quarantined"
        assert status_harness.component("quarantine").state is State.DEGRADED
        assert status_harness.component("quarantine").message.startswith(
            "1 segment has undelivered changes"
        )
        assert status_harness.component("quarantine").details["segments"] == 1
        assert b"cdc_quarantine_segments 1.0" in status_harness.harness.metrics.delivery.render()
        status_harness.harness.kill()


def test_positions_of_a_removed_segment_are_reported(status_harness: StatusHarness) -> None:
    status_harness.begin()
    log = status_harness.harness.raw.completed(7, 2)
    status_harness.harness.settle()
    assert f"cdc_read_position_bytes {log.end}.0".encode() in status_harness.status.metrics()
    assert b"cdc_acknowledged_segment_id 0.0" in status_harness.status.metrics()
    status_harness.harness.sink.acknowledge()
    status_harness.harness.settle()
    assert status_harness.harness.raw.names() == set()
    assert (
        f"cdc_acknowledged_position_bytes {log.end}.0".encode() in status_harness.status.metrics()
    )
    assert b"cdc_acknowledged_segment_id 7.0" in status_harness.status.metrics()
    assert b"cdc_read_segment_id 7.0" in status_harness.status.metrics()


def test_a_directory_that_fills_up_is_seen_in_time(status_harness: StatusHarness) -> None:
    status_harness.begin()
    for number in range(1, 9):
        status_harness.harness.raw.segment(number)
    status_harness.harness.settle()
    assert status_harness.component("cdc_raw").ok
    status_harness.harness.raw.segment(9)
    status_harness.harness.settle()
    assert not status_harness.component("cdc_raw").ok
    assert "cdc_total_space" in status_harness.component("cdc_raw").message


def test_status_lists_files_that_are_not_segments(status_harness: StatusHarness) -> None:
    status_harness.begin()
    (status_harness.harness.raw.directory / "notes.txt").touch()
    status_harness.harness.settle()
    assert status_harness.component("cdc_raw").ok
    assert status_harness.component("cdc_raw").details["no_segments"] == ("notes.txt",)


def test_a_pipeline_that_hangs_is_not_alive(status_harness: StatusHarness) -> None:
    status_harness.begin()
    status_harness.harness.settle()
    status_harness.harness.clock.advance(121)
    assert not status_harness.status.live().ok
    assert not status_harness.component("pipeline").ok
    status_harness.harness.settle()
    assert status_harness.status.live().ok


def test_recovered_offsets_are_reported(status_harness: StatusHarness) -> None:
    status_harness.begin()
    status_harness.status.note_offsets("the previous copy is used")
    assert status_harness.component("offsets").ok
    assert "previous copy" in status_harness.component("offsets").message


def test_an_index_that_cannot_be_read_is_seen(status_harness: StatusHarness) -> None:
    status_harness.begin()
    log = status_harness.harness.raw.segment(1, 2)
    index = status_harness.harness.raw.directory / log.name.idx
    # A directory stands for a file of another user, which root may read.
    index.mkdir()
    status_harness.harness.settle()
    assert not status_harness.component("cdc_raw").ok
    assert log.name.idx in status_harness.component("cdc_raw").message
    assert "Is a directory" in status_harness.component("cdc_raw").message
    index.rmdir()
    status_harness.harness.raw.index(log, log.end)
    status_harness.harness.settle()
    assert status_harness.component("cdc_raw").ok


def reread(status_harness: StatusHarness, table: Options) -> None:
    """The node reports these options of `ks.t`, and the agent asks it."""
    options = WriteOptions({"ks": {"durable_writes": "true"}}, {"ks.t": table})
    status_harness.feeder.write_options = options
    status_harness.holder.refresh("new options")
    wait_until(lambda: status_harness.holder.write_options is options, "the options", deadline_s=60)


def test_writes_that_bypass_the_commit_log_are_seen_until_they_do_not(
    status_harness: StatusHarness,
) -> None:
    assert b"cdc_unlogged_tables NaN" in status_harness.status.metrics()
    status_harness.begin()
    status_harness.harness.settle()
    assert status_harness.component("schema").ok
    assert b"cdc_unlogged_tables 0.0" in status_harness.status.metrics()
    reread(status_harness, {"transactional_mode": "full"})
    schema = status_harness.component("schema")
    assert not schema.ok
    assert schema.details["unlogged_tables"] == ["ks.t: transactional_mode = 'full'"]
    metrics = status_harness.status.metrics()
    assert b"cdc_unlogged_tables 1.0" in metrics
    series = b'cdc_table_unlogged{keyspace="ks",reason="%s",table="t"} 1.0'
    assert series % b"transactional_mode" in metrics
    reread(status_harness, {"transactional_mode": "off", "transactional_migration_from": "full"})
    metrics = status_harness.status.metrics()
    assert series % b"transactional_mode" not in metrics
    assert series % b"transactional_migration" in metrics
    reread(status_harness, {"transactional_mode": "off"})
    assert status_harness.component("schema").ok
    assert b"cdc_table_unlogged{" not in status_harness.status.metrics()
