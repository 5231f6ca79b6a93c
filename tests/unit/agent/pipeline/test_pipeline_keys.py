"""Encrypted segments in the pipeline: held without their key, and read when it comes."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.cdc_raw import SegmentName, parse_log_name
from agent.keystore import KeySource, KeystoreSettings
from agent.pipeline import open_with
from commitlog import Schema
from tests.oracle.reference.recordings import KEYSTORE, OWN, PASSWORD
from tests.oracle.reference.segment import read_bytes
from tests.support.pipeline_harness import Rig
from tests.support.recorded_segments import FORMAT, arrived, put
from tests.support.servers.keystore import make_keystore

MakeRig = Callable[..., Rig]
FOLDER = OWN / "4.1" / "encrypted"


class Place:
    """A rig with one recorded encrypted segment, and a keystore that a test may change."""

    def __init__(self, make_rig: MakeRig, folder: Path) -> None:
        self.keystore = folder / KEYSTORE
        settings = KeystoreSettings(self.keystore, PASSWORD, None, None, "commit.log.keystore.path")
        schema = (FOLDER / "schema.cql").read_text(encoding="utf-8")
        self.rig = make_rig(
            open_reader=open_with(FORMAT, None, KeySource(settings)),
            schema=Schema.from_cql(schema),
            window_max_events=2000,
            batch_max_events=100,
            quarantine_max_bytes=100_000_000,
        )
        (packed,) = FOLDER.glob("CommitLog-*.log.gz")
        name = parse_log_name(packed.name.removesuffix(".gz"))
        assert name is not None
        self.name: SegmentName = name
        put(self.rig.raw.directory, name, read_bytes(packed))
        self.rig.raw.directory.joinpath(name.idx).write_text("1048576\nCOMPLETED")

    def sentence(self) -> str:
        assert self.rig.view.blocked is not None
        return self.rig.view.blocked.message

    def give_key(self) -> None:
        shutil.copyfile(FOLDER / KEYSTORE, self.keystore.with_suffix(".new"))
        self.keystore.with_suffix(".new").replace(self.keystore)

    def finish(self) -> None:
        """Until nothing is left; what fills segments is of a table that the schema lacks."""
        for _ in range(20):
            self.rig.pass_time(61)
            if not self.rig.raw.names():
                return
        raise AssertionError("it never ends")


@pytest.fixture
def place(make_rig: MakeRig, tmp_path: Path) -> Place:
    return Place(make_rig, tmp_path)


def test_a_segment_waits_for_its_key(place: Place) -> None:
    rig = place.rig
    for _ in range(20):
        rig.pass_time(2)
        assert rig.phases == ["blocked"]
    assert arrived(rig) == []
    assert rig.quarantined() == set()
    assert place.name.log in place.sentence()
    assert 'the key "testing:1"' in place.sentence()
    assert f"{place.keystore} (commit.log.keystore.path)" in place.sentence()
    place.give_key()
    rig.pass_time(2)
    assert arrived(rig)
    place.finish()
    lines = (FOLDER / "dump.ndjson.gz").exists()
    assert lines
    assert rig.store.values[place.name.log] == "COMPLETED"


def test_another_key_of_the_same_name_holds_and_loses_nothing(place: Place) -> None:
    """It is one sentence, and no damage on record."""
    rig = place.rig
    make_keystore(place.keystore)
    rig.settle()
    rig.pass_time(30)
    assert rig.phases == ["blocked"]
    assert "is wrong: it decrypts no chunk of the segment" in place.sentence()
    assert "put the key that the node used into" in place.sentence()
    assert rig.quarantined() == set()
    assert arrived(rig) == []
    place.give_key()
    rig.pass_time(2)
    assert arrived(rig)


def test_a_key_that_never_comes_costs_no_byte(place: Place) -> None:
    """After the hold limit the whole segment is kept in the quarantine, with the reason."""
    rig = place.rig
    rig.settle()
    assert rig.phases == ["blocked"]
    rig.pass_time(61)
    rig.settle()
    assert arrived(rig) == []
    kept = rig.quarantine.directory / place.name.log
    (packed,) = FOLDER.glob("CommitLog-*.log.gz")
    assert kept.read_bytes() == read_bytes(packed)
    reasons = "".join(
        file.read_text() for file in rig.quarantine.directory.iterdir() if file.suffix == ".json"
    )
    assert "testing:1" in reasons
    assert "commit.log.keystore.path" in reasons


def test_a_restart_goes_on_in_the_middle(place: Place) -> None:
    """A reader that is opened behind the first records decrypts from there."""
    rig = place.rig
    place.give_key()
    rig.settle()
    before = arrived(rig)
    assert before
    rig.kill()
    place.finish()
    assert not set(arrived(rig)) & set(before)
