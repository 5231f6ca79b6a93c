"""The agent's status over HTTP."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from agent.schema.write_options import Options, WriteOptions
from agent.status.view import HISTORY
from sidecar.health.condition import State
from tests.support.agents.status_harness import StatusHarness
from tests.support.node.fake_snapshot_node import FakeNode, running
from tests.support.servers.processes import wait_until


def test_agent_without_schema_is_live_but_not_ready(site: StatusHarness) -> None:
    assert site.status.live().ok
    assert not site.status.ready().ok
    assert not site.component("schema").ok
    assert site.status.offsets() == {"stored": {}, "reached": {}, "segments": []}
    assert b"cdc_schema_tables 0.0" in site.status.metrics()


def test_about_contains_instance_destination_and_uptime(site: StatusHarness) -> None:
    status = site.status
    known = replace(status.instance(), host="host-1", topic_prefix="shop")
    status.note_instance(known.located("lab", "node-1", "dc1", "r1"))
    status.note_configuration("kafka broker:9092", "0123456789ab")
    site.harness.clock.advance(12.34)
    assert status.about() == {
        "instance": {
            **{"service": "cdc-sidecar-cassandra", "version": "1.2.3", "host": "host-1"},
            **{"topic_prefix": "shop", "cluster": "lab", "node_id": "node-1", "datacenter": "dc1"},
            "rack": "r1",
        },
        "uptime_s": 12.3,
        "destination": "kafka broker:9092",
        "configuration_fingerprint": "0123456789ab",
    }
    (line,) = (each for each in status.metrics().splitlines() if b"cdc_build_info{" in each)
    assert b'datacenter="dc1"' in line


def test_history_sample_contains_values_of_view(site: StatusHarness) -> None:
    assert site.status.sample() == {"status": 2}
    site.begin()
    site.raw.live(1, 2)
    site.settle()
    sample = site.status.sample()
    assert sample.keys() == {column.name for column in HISTORY}
    assert (sample["unacknowledged_events"], sample["cdc_raw_limit_bytes"]) == (2, 1000)
    assert sample["cdc_raw_bytes"] > 0
    site.acknowledge()
    assert site.status.sample()["events_per_s"] == 2


def test_agent_without_faults_is_ready(begun: StatusHarness) -> None:
    log = begun.raw.live(1, 2)
    begun.settle()
    begun.acknowledge()
    assert begun.status.live().ok
    assert begun.status.ready().ok
    assert all(part.ok for part in begun.status.health().components)
    assert {part.name for part in begun.status.health().components} == {
        *("pipeline", "sink", "schema", "cdc_raw", "offsets", "quarantine"),
    }
    offsets = begun.status.offsets()
    assert offsets["stored"] == {"node.id": "node-1", log.name.log: str(log.end)}
    assert offsets["reached"] == offsets["stored"]
    assert b"cdc_schema_tables 1.0" in begun.status.metrics()


def test_offset_save_error_is_reported(begun: StatusHarness) -> None:
    begun.raw.completed(1, 1)
    begun.harness.store.is_failing = True
    begun.settle()
    begun.acknowledge()
    assert not begun.component("offsets").ok
    assert "disk is full" in begun.component("offsets").message


def test_snapshot_offset_save_error_is_reported(tmp_path: Path) -> None:
    with (
        running(FakeNode(), mode="never") as snapshot,
        closing(StatusHarness(tmp_path, snapshot)) as site,
    ):
        site.begin()
        site.harness.snapshot_store.is_failing = True
        snapshot.start_table("ks.t")
        site.settle()
        assert not site.component("snapshot").ok
        assert "disk is full" in site.component("snapshot").message
        assert site.component("offsets").ok
        site.harness.snapshot_store.is_failing = False
        site.pass_time(2)
        assert site.component("snapshot").ok


def test_undelivered_events_remain_visible_after_restart(begun: StatusHarness) -> None:
    """A restart resets the counters."""
    assert begun.component("quarantine").message == "the quarantine is empty"
    begun.raw.completed(1, 2).add(1, is_damaged=True)
    begun.raw.completed(2, 2)
    begun.settle()
    begun.harness.sink.acknowledge()
    begun.pass_time(6)
    for _ in range(2):
        begun.status.attach(begun.harness.pipeline)
        assert [each.code for each in begun.status.status().conditions][-1] == "segment_quarantined"
        assert begun.component("quarantine").state is State.DEGRADED
        assert begun.component("quarantine").message.startswith("1 segment has undelivered changes")
        assert begun.component("quarantine").details["segments"] == 1
        assert b"cdc_quarantine_segments 1.0" in begun.harness.metrics.delivery.render()
        begun.harness.kill()


def test_positions_of_a_removed_segment_are_reported(begun: StatusHarness) -> None:
    log = begun.raw.completed(7, 2)
    begun.settle()
    assert f"cdc_read_position_bytes {log.end}.0".encode() in begun.status.metrics()
    assert b"cdc_acknowledged_segment_id 0.0" in begun.status.metrics()
    begun.acknowledge()
    assert begun.raw.names() == set()
    assert f"cdc_acknowledged_position_bytes {log.end}.0".encode() in begun.status.metrics()
    assert b"cdc_acknowledged_segment_id 7.0" in begun.status.metrics()
    assert b"cdc_read_segment_id 7.0" in begun.status.metrics()


def test_status_lists_files_that_are_not_segments(begun: StatusHarness) -> None:
    (begun.raw.directory / "notes.txt").touch()
    begun.settle()
    assert begun.component("cdc_raw").ok
    assert begun.component("cdc_raw").details["no_segments"] == ("notes.txt",)


def test_hanging_pipeline_is_not_live(begun: StatusHarness) -> None:
    begun.settle()
    begun.harness.clock.advance(121)
    assert not begun.status.live().ok
    assert not begun.component("pipeline").ok
    begun.settle()
    assert begun.status.live().ok


def test_recovered_offsets_are_reported(begun: StatusHarness) -> None:
    begun.status.note_offsets("the previous copy is used")
    assert begun.component("offsets").ok
    assert "previous copy" in begun.component("offsets").message


def test_unreadable_index_is_reported(begun: StatusHarness) -> None:
    log = begun.raw.segment(1, 2)
    index = begun.raw.directory / log.name.idx
    # A directory replaces a file of another user, which root could read.
    index.mkdir()
    begun.settle()
    assert not begun.component("cdc_raw").ok
    assert log.name.idx in begun.component("cdc_raw").message
    assert "Is a directory" in begun.component("cdc_raw").message
    index.rmdir()
    begun.raw.index(log, log.end)
    begun.settle()
    assert begun.component("cdc_raw").ok


def reread(site: StatusHarness, table: Options) -> None:
    """Let the node report these options of `ks.t`, and refresh the agent."""
    options = WriteOptions({"ks": {"durable_writes": "true"}}, {"ks.t": table})
    site.feeder.write_options = options
    site.holder.refresh("new options")
    wait_until(lambda: site.holder.write_options is options, "the options")


def test_bypassing_writes_are_reported_until_logged(site: StatusHarness) -> None:
    assert b"cdc_unlogged_tables NaN" in site.status.metrics()
    site.begin()
    site.settle()
    assert site.component("schema").ok
    assert b"cdc_unlogged_tables 0.0" in site.status.metrics()
    reread(site, {"transactional_mode": "full"})
    schema = site.component("schema")
    assert not schema.ok
    assert schema.details["unlogged_tables"] == ["ks.t: transactional_mode = 'full'"]
    metrics = site.status.metrics()
    assert b"cdc_unlogged_tables 1.0" in metrics
    series = b'cdc_table_unlogged{keyspace="ks",reason="%s",table="t"} 1.0'
    assert series % b"transactional_mode" in metrics
    reread(site, {"transactional_mode": "off", "transactional_migration_from": "full"})
    metrics = site.status.metrics()
    assert series % b"transactional_mode" not in metrics
    assert series % b"transactional_migration" in metrics
    reread(site, {"transactional_mode": "off"})
    assert site.component("schema").ok
    assert b"cdc_table_unlogged{" not in site.status.metrics()
