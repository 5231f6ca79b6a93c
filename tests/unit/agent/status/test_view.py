"""What a person sees over HTTP."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sidecar.health import State
from tests.support.fake_snapshot_node import FakeNode, running
from tests.support.status_site import Site


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    (tmp_path / "site").mkdir()
    with closing(Site(tmp_path / "site")) as site:
        yield site


def test_before_the_schema_it_lives_and_is_not_ready(site: Site) -> None:
    assert site.status.live().ok
    assert not site.status.ready().ok
    assert not site.component("schema").ok
    assert site.status.offsets() == {"stored": {}, "reached": {}, "segments": []}
    assert b"cdc_schema_tables 0.0" in site.status.metrics()


def test_all_is_well(site: Site) -> None:
    site.begin()
    log = site.rig.raw.segment(1, 2)
    site.rig.raw.index(log, log.end)
    site.rig.settle()
    site.rig.sink.acknowledge()
    site.rig.settle()
    assert site.status.live().ok
    assert site.status.ready().ok
    assert all(part.ok for part in site.status.components())
    assert {part.name for part in site.status.components()} == {
        "pipeline",
        "sink",
        "schema",
        "cdc_raw",
        "offsets",
        "quarantine",
    }
    offsets = site.status.offsets()
    assert offsets["stored"] == {"node.id": "node-1", log.name.log: str(log.end)}
    assert offsets["reached"] == offsets["stored"]
    assert b"cdc_schema_tables 1.0" in site.status.metrics()


def test_a_sink_that_is_away_is_not_ready(site: Site) -> None:
    site.begin()
    site.rig.sink.go_away("no broker answers")
    site.rig.pass_time(1)
    assert site.status.live().ok
    assert not site.status.ready().ok
    assert "no broker" in site.component("sink").message


def test_a_hold_is_seen(site: Site) -> None:
    site.begin()
    site.rig.raw.completed(1).add(1, table="ks.new")
    site.rig.settle()
    held = [part for part in site.status.components() if not part.ok]
    assert ["ks.new is not known" in part.message for part in held] == [True]
    assert b"cdc_blocked 1.0" in site.status.metrics()


def test_progress_that_cannot_be_saved_is_seen(site: Site) -> None:
    site.begin()
    site.rig.raw.completed(1, 1)
    site.rig.store.is_failing = True
    site.rig.settle()
    site.rig.sink.acknowledge()
    site.rig.settle()
    assert not site.component("offsets").ok
    assert "disk is full" in site.component("offsets").message


def test_progress_of_copies_that_cannot_be_saved_is_seen(tmp_path: Path) -> None:
    with running(FakeNode(), mode="never") as snapshot, closing(Site(tmp_path, snapshot)) as site:
        site.begin()
        site.rig.snapshot_store.is_failing = True
        snapshot.start_table("ks.t")
        site.rig.settle()
        assert not site.component("snapshot").ok
        assert "disk is full" in site.component("snapshot").message
        assert site.component("offsets").ok
        site.rig.snapshot_store.is_failing = False
        site.rig.pass_time(2)
        assert site.component("snapshot").ok


def test_a_full_quarantine_says_what_to_do(site: Site) -> None:
    site.begin()
    site.rig.raw.completed(1).add(1, is_damaged=True)
    (site.rig.quarantine.directory).mkdir(parents=True)
    (site.rig.quarantine.directory / "filler").write_bytes(b"x" * 450)
    site.rig.settle()
    assert not site.component("quarantine").ok
    assert "quarantine.max.bytes" in site.component("quarantine").message


def test_what_was_not_delivered_stays_in_sight(site: Site) -> None:
    """Also after a restart, which sets the counters to nothing."""
    site.begin()
    assert site.component("quarantine").message == "the quarantine is empty"
    site.rig.raw.completed(1, 2).add(1, is_damaged=True)
    site.rig.raw.completed(2, 2)
    site.rig.settle()
    site.rig.sink.acknowledge()
    site.rig.pass_time(6)
    for _ in range(2):
        site.status.attach(site.rig.pipeline)
        codes = [each.code for each in site.status.status().conditions]
        assert codes[-1] == "segment_quarantined"
        assert site.component("quarantine").state is State.DEGRADED
        assert site.component("quarantine").message.startswith("1 segment has undelivered changes")
        assert site.component("quarantine").details["segments"] == 1
        assert b"cdc_quarantine_segments 1.0" in site.rig.metrics.delivery.render()
        site.rig.kill()


def test_positions_are_told_of_a_segment_that_has_left(site: Site) -> None:
    site.begin()
    log = site.rig.raw.completed(7, 2)
    site.rig.settle()
    assert f"cdc_read_position_bytes {log.end}.0".encode() in site.status.metrics()
    assert b"cdc_acknowledged_segment_id 0.0" in site.status.metrics()
    site.rig.sink.acknowledge()
    site.rig.settle()
    assert site.rig.raw.names() == set()
    assert f"cdc_acknowledged_position_bytes {log.end}.0".encode() in site.status.metrics()
    assert b"cdc_acknowledged_segment_id 7.0" in site.status.metrics()
    assert b"cdc_read_segment_id 7.0" in site.status.metrics()


def test_a_directory_that_fills_up_is_seen_in_time(site: Site) -> None:
    site.begin()
    for number in range(1, 9):
        site.rig.raw.segment(number)
    site.rig.settle()
    assert site.component("cdc_raw").ok
    site.rig.raw.segment(9)
    site.rig.settle()
    assert not site.component("cdc_raw").ok
    assert "cdc_total_space" in site.component("cdc_raw").message


def test_what_is_no_segment_is_shown(site: Site) -> None:
    site.begin()
    (site.rig.raw.directory / "notes.txt").touch()
    site.rig.settle()
    assert site.component("cdc_raw").ok
    assert site.component("cdc_raw").details["no_segments"] == ("notes.txt",)


def test_a_pipeline_that_hangs_is_not_alive(site: Site) -> None:
    site.begin()
    site.rig.settle()
    site.rig.clock.advance(121)
    assert not site.status.live().ok
    assert not site.component("pipeline").ok
    site.rig.settle()
    assert site.status.live().ok


def test_offsets_that_were_recovered_are_told(site: Site) -> None:
    site.begin()
    site.status.note_offsets("the previous copy is used")
    assert site.component("offsets").ok
    assert "previous copy" in site.component("offsets").message


def test_an_index_that_cannot_be_read_is_seen(site: Site) -> None:
    site.begin()
    log = site.rig.raw.segment(1, 2)
    index = site.rig.raw.directory / log.name.idx
    # A directory stands for a file of another user, which root may read.
    index.mkdir()
    site.rig.settle()
    assert not site.component("cdc_raw").ok
    assert log.name.idx in site.component("cdc_raw").message
    assert "Is a directory" in site.component("cdc_raw").message
    index.rmdir()
    site.rig.raw.index(log, log.end)
    site.rig.settle()
    assert site.component("cdc_raw").ok
