"""Encrypted segments in the pipeline: blocked without their key, read once it is available."""

import shutil
from pathlib import Path

import pytest

from agent.keystore.source import KeySource, KeystoreSettings
from agent.pipeline.reader import open_with
from tests.oracle.reference.recordings import KEYSTORE, OWN, PASSWORD
from tests.support.pipeline.harness import MakeHarness
from tests.support.segments.recorded_segments import (
    FORMAT,
    arrived,
    complete,
    over_segments,
    packed_segments,
    unpack,
)
from tests.support.servers.keystore import make_keystore

FOLDER = OWN / "4.1" / "encrypted"


class Place:
    """A harness with one recorded encrypted segment, and a keystore that a test may change."""

    def __init__(self, make_harness: MakeHarness, folder: Path) -> None:
        self.keystore = folder / KEYSTORE
        settings = KeystoreSettings(self.keystore, PASSWORD, None, None, "commit.log.keystore.path")
        schema = (FOLDER / "schema.cql").read_text(encoding="utf-8")
        reader = open_with(FORMAT, None, KeySource(settings))
        self.harness = over_segments(make_harness, schema, open_reader=reader)
        (packed,) = packed_segments(FOLDER)
        self.log, self.name = unpack(self.harness.raw.directory, packed)
        complete(self.harness, self.name)

    def give_key(self) -> None:
        shutil.copyfile(FOLDER / KEYSTORE, self.keystore.with_suffix(".new"))
        self.keystore.with_suffix(".new").replace(self.keystore)

    def finish(self) -> None:
        """Run until `cdc_raw` is empty; the schema lacks the table of the filler rows."""
        for _ in range(20):
            self.harness.pass_time(61)
        assert self.harness.raw.names() == set()


@pytest.fixture
def place(make_harness: MakeHarness, tmp_path: Path) -> Place:
    return Place(make_harness, tmp_path)


def test_encrypted_segment_waits_for_its_key(place: Place) -> None:
    harness = place.harness
    for _ in range(20):
        harness.pass_time(2)
        assert harness.phases == ["blocked"]
    assert (arrived(harness), harness.quarantined()) == ([], set())
    blocked = str(harness.view.blocked)
    for part in (place.name.log, 'key "testing:1"', f"{place.keystore} (commit.log.keystore.path)"):
        assert part in blocked
    place.give_key()
    harness.pass_time(2)
    assert arrived(harness)
    place.finish()
    assert harness.store.values[place.name.log] == "COMPLETED"


def test_wrong_key_with_same_alias_blocks_without_loss(place: Place) -> None:
    """The agent reports the wrong key and records no damage."""
    harness = place.harness
    make_keystore(place.keystore)
    harness.settle()
    harness.pass_time(30)
    assert harness.phases == ["blocked"]
    assert "is wrong: it decrypts no chunk of the segment" in str(harness.view.blocked)
    assert "put the key that the node used into" in str(harness.view.blocked)
    assert (harness.quarantined(), arrived(harness)) == (set(), [])
    place.give_key()
    harness.pass_time(2)
    assert arrived(harness)


def test_segment_without_key_is_quarantined_entirely(place: Place) -> None:
    """After the timeout the whole segment is quarantined, with the reason."""
    harness = place.harness
    content = place.log.read_bytes()
    harness.settle()
    assert harness.phases == ["blocked"]
    harness.pass_time(61)
    harness.settle()
    assert arrived(harness) == []
    quarantine = harness.quarantine.directory
    assert (quarantine / place.name.log).read_bytes() == content
    reasons = "".join(file.read_text() for file in quarantine.glob("*.json"))
    assert "testing:1" in reasons
    assert "commit.log.keystore.path" in reasons


def test_restart_resumes_inside_encrypted_segment(place: Place) -> None:
    """A reader opened after the first records decrypts from that position."""
    harness = place.harness
    place.give_key()
    harness.settle()
    before = arrived(harness)
    assert before
    harness.kill()
    place.finish()
    assert not set(arrived(harness)) & set(before)
