"""The pipeline over real segments: written byte by byte as a node does, and recorded ones."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.cdc_raw.names import SegmentName
from commitlog import Schema
from tests.oracle.reference import recordings
from tests.oracle.writer import lz4_segment, record, segment
from tests.support.agents.agent_directory import SCHEMA, payload
from tests.support.pipeline.harness import MakeHarness, PipelineHarness
from tests.support.segments.recorded_segments import (
    arrived,
    complete,
    known_events,
    over_segments,
    put,
    put_recording,
    readable_folders,
    source,
    unpack,
)

pytestmark = pytest.mark.heavy

NAME = SegmentName(1, 7)


def pass_blocks(harness: PipelineHarness) -> None:
    """Wait until the agent abandons unknown tables."""
    for _ in range(200):
        harness.pass_time(61)
        if harness.view.blocked is None:
            return


def test_growing_segment_is_read_up_to_its_index(make_harness: MakeHarness) -> None:
    harness = over_segments(make_harness, SCHEMA)
    payloads = [[payload(10 * s + r) for r in range(3)] for s in range(5)]
    # Intact records after the chain, which the node itself may drop.
    tail = bytes(8) + record(payload(99)) + bytes(200)
    ends = [len(segment(payloads[:count], tail=b"")) for count in range(6)]
    for count in range(1, 6):
        put(harness.raw.directory, NAME, segment(payloads[:count], tail=tail))
        harness.settle()
        assert arrived(harness) == []
        harness.raw.directory.joinpath(NAME.idx).write_text(str(ends[count]))
        harness.settle()
        assert (len(arrived(harness)), harness.store.values[NAME.log]) == (3, str(ends[count]))
        harness.kill()
    # A replay writes the file's length to the index.
    length = harness.raw.directory.joinpath(NAME.log).stat().st_size
    harness.raw.directory.joinpath(NAME.idx).write_text(f"{length}\nCOMPLETED")
    harness.settle()
    assert arrived(harness) == [], "what stands behind the chain is never read"
    assert harness.raw.names() == harness.quarantined() == set()


def test_completed_index_position_of_compressed_segment_is_ignored(
    make_harness: MakeHarness,
) -> None:
    """After a replay the position is the file's length, which is below the logical end."""
    harness = over_segments(make_harness, SCHEMA)
    put(harness.raw.directory, NAME, lz4_segment([[payload(c, b"x" * 300) for c in range(20)]]))
    harness.raw.directory.joinpath(NAME.idx).write_text("40\nCOMPLETED")
    harness.settle()
    assert (len(arrived(harness)), harness.raw.names()) == (20, set())


def test_cassandra_3_11_segments_are_read_without_index(make_harness: MakeHarness) -> None:
    """Every segment, including the newest, is final and fully read. A replayed segment that
    reappears is removed unread."""
    harness = over_segments(make_harness, SCHEMA)
    contents = {
        SegmentName(number, 6): segment(
            [[payload(10 * number), payload(10 * number + 1)], [], [payload(10 * number + 2)]],
            version=6,
            segment_id=number,
            tail=bytes(4096),
        )
        for number in (1, 2)
    }
    for name, content in contents.items():
        put(harness.raw.directory.parent, name, content).rename(harness.raw.directory / name.log)
        harness.settle()
        assert (len(arrived(harness)), harness.raw.names()) == (3, set())
        assert harness.store.values[name.log] == "COMPLETED"
        harness.kill()
    again = SegmentName(1, 6)
    put(harness.raw.directory, again, contents[again])
    harness.settle()
    assert (arrived(harness), harness.raw.names(), harness.quarantined()) == ([], set(), set())


@pytest.mark.parametrize("size", [0, 10])
def test_final_segment_without_header_is_quarantined(make_harness: MakeHarness, size: int) -> None:
    harness = over_segments(make_harness, SCHEMA)
    put(harness.raw.directory, NAME, segment([])[:size])
    put(harness.raw.directory, SegmentName(2, 7), segment([], segment_id=2))
    harness.settle()
    assert NAME.log in harness.quarantined()
    assert harness.raw.names() == {"CommitLog-7-2.log"}


def test_segments_without_records_are_removed(make_harness: MakeHarness) -> None:
    harness = over_segments(make_harness, SCHEMA)
    put(harness.raw.directory, NAME, segment([]))
    put(harness.raw.directory, SegmentName(2, 7), segment([[]], segment_id=2))
    put(harness.raw.directory, SegmentName(3, 7), segment([], segment_id=3, tail=b""))
    put(harness.raw.directory, SegmentName(4, 7), segment([], segment_id=4))
    harness.settle()
    assert (harness.raw.names(), harness.quarantined()) == ({"CommitLog-7-4.log"}, set())


def test_flipped_bit_loses_one_record_and_quarantines_segment(make_harness: MakeHarness) -> None:
    harness = over_segments(make_harness, SCHEMA)
    content = bytearray(segment([[payload(c) for c in range(5)], [payload(9)]]))
    content[100] ^= 1
    put(harness.raw.directory, NAME, bytes(content))
    complete(harness, NAME)
    harness.settle()
    # The index position exceeds the file, which may still grow.
    harness.pass_time(11)
    assert len(arrived(harness)) == 5
    assert NAME.log in harness.quarantined()
    assert (harness.quarantine.directory / NAME.log).read_bytes() == content


@pytest.mark.parametrize(
    "folder",
    [
        pytest.param(
            folder,
            id=f"{folder.parent.name}-{folder.name}",
            marks=() if folder.is_relative_to(recordings.OWN) else pytest.mark.slow,
        )
        for folder in readable_folders()
    ],
)
def test_recorded_segments_survive_frequent_kills(make_harness: MakeHarness, folder: Path) -> None:
    """Every event of a known table arrives. The agent abandons records of other tables and keeps
    their segments."""
    schema_text = (folder / "schema.cql").read_text(encoding="utf-8")
    harness = over_segments(make_harness, schema_text)
    events, _ = put_recording(harness, folder, Schema.from_cql(schema_text))
    expected = set(map(source, events))
    delivered: set[str] = set()
    for life in range(1000):
        for _ in range(life % 7 + 3):
            harness.clock.advance(61)
            harness.tick()
        delivered.update(arrived(harness))
        if not harness.raw.names():
            break
        harness.kill()
    assert (delivered, harness.raw.names()) == (expected, set())


@dataclass(frozen=True)
class State:
    """Contents of a recorded cdc_raw at one moment."""

    folder: Path

    def apply(self, harness: PipelineHarness) -> None:
        """Reproduce contents, link counts and indexes in cdc_raw, without segments that the agent
        has finished."""
        completed = {key for key, value in harness.store.values.items() if value == "COMPLETED"}
        seen = set()
        for line in (self.folder / "listing.txt").read_text().splitlines():
            file_name, *facts = line.split()
            seen.add(file_name)
            if file_name in completed or file_name.replace("_cdc.idx", ".log") in completed:
                continue
            if file_name.endswith(".idx"):
                text = line.partition("text='")[2].removesuffix("'").replace("\\n", "\n")
                (harness.raw.directory / file_name).write_text(text)
                continue
            path, _ = unpack(harness.raw.directory, self.folder / f"{file_name}.gz")
            link = harness.raw.commitlog / file_name
            link.unlink(missing_ok=True)
            if "links=2" in facts:
                link.hardlink_to(path)
        for file_name in harness.raw.names() - seen:
            (harness.raw.directory / file_name).unlink()


def _further(pattern: str) -> list[Path]:
    """Folders of the additional recordings; empty if those are not available."""
    root = recordings.SHARED / "fixtures" / "5.0"
    return sorted(root.glob(pattern)) if root.is_dir() else []


@pytest.mark.parametrize("folder", _further("f16-*"), ids=lambda folder: str(folder.name))
def test_recording_of_writing_node_is_delivered_in_order(
    make_harness: MakeHarness, folder: Path
) -> None:
    schema_text = (folder / "schema.cql").read_text(encoding="utf-8")
    harness, schema = over_segments(make_harness, schema_text), Schema.from_cql(schema_text)
    seen = 0
    for state in [*sorted(folder.glob("snap-*")), folder]:
        for packed in state.glob("CommitLog-*.log.gz"):
            log, name = unpack(harness.raw.directory, packed)
            (harness.raw.commitlog / name.log).unlink(missing_ok=True)
            (harness.raw.commitlog / name.log).hardlink_to(log)
        for idx in state.glob("*_cdc.idx"):
            (harness.raw.directory / idx.name).write_bytes(idx.read_bytes())
        pass_blocks(harness)
        assert len(arrived(harness)) >= seen
        seen = len(arrived(harness))
        for segment_state in harness.view.all_segments():
            limit = segment_state.idx.offset or 0
            assert segment_state.acknowledged_position <= limit
            assert str(limit) == harness.store.values.get(segment_state.name.log, "0")
    whole, name = unpack(harness.relocation, next(folder.glob("CommitLog-*.log.gz")))
    events, _ = known_events(whole, name, schema)
    assert arrived(harness) == [source(message) for message in events]
    assert seen > 0
    assert not [left for left in harness.raw.names() if left.endswith(".idx")]


@pytest.mark.parametrize("folder", _further("f17-*"), ids=lambda folder: str(folder.name))
def test_recording_of_killed_node_is_delivered_without_repeats(
    make_harness: MakeHarness, folder: Path
) -> None:
    states = [State(state) for state in sorted(folder.glob("[123]-*"))]
    schema_text = next(folder.rglob("schema.cql")).read_text(encoding="utf-8")
    harness, schema = over_segments(make_harness, schema_text), Schema.from_cql(schema_text)
    expected: set[str] = set()
    for state in states:
        state.apply(harness)
        pass_blocks(harness)
        for path in sorted(state.folder.glob("*_cdc.idx")):
            if "COMPLETED" in path.read_text():
                packed = path.with_name(path.name.replace("_cdc.idx", ".log.gz"))
                log, name = unpack(harness.relocation, packed)
                events, schema = known_events(log, name, schema)
                expected.update(map(source, events))
    delivered = arrived(harness)
    assert set(delivered) == expected
    assert len(delivered) == len(expected), "nothing is repeated without a kill of the agent"
    left = {name for name in harness.raw.names() if name.endswith(".idx")}
    assert left == set(), "only segments without news stay"
