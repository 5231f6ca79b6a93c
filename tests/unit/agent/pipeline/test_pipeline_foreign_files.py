"""Files whose content does not match their segment name, permanently or temporarily."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent.cdc_raw.names import SegmentName
from agent.pipeline.reader import open_with
from tests.oracle.writer import FRAMINGS, Framing, Written, write_segment
from tests.support.pipeline.fakes import WRITTEN_AT_S
from tests.support.pipeline.harness import PipelineHarness
from tests.support.segments.missing_ends import SCHEMA, payload
from tests.support.segments.segment_reading import FORMAT
from tests.support.sinks.memory_sink import MemorySink

pytestmark = pytest.mark.heavy

GIB = 1 << 30
ONE, TWO = SegmentName(1, 7), SegmentName(2, 7)
UNENCRYPTED = [each for each in FRAMINGS if not each.keys]
unencrypted = st.sampled_from(UNENCRYPTED)
LITERALS = next(each for each in FRAMINGS if each.name == "LZ4 literals")
few = settings(max_examples=15)


def written(segment_id: int, first: int, *sections: int, framing: Framing = FRAMINGS[0]) -> Written:
    """Write sections with the given record counts; rows are numbered from `first`."""
    numbers = iter(range(first, first + sum(sections)))
    payloads = [[payload(next(numbers), 40, 7) for _ in range(count)] for count in sections]
    return write_segment(payloads, 7, segment_id, framing)


@contextmanager
def agent(**options: Any) -> Iterator[PipelineHarness]:
    with tempfile.TemporaryDirectory() as folder:
        harness = PipelineHarness(
            Path(folder),
            open_reader=open_with(FORMAT),
            schema=SCHEMA,
            quarantine_max_bytes=100_000_000,
            **options,
        )
        try:
            yield harness
        finally:
            harness.end()


def put(harness: PipelineHarness, name: SegmentName, data: bytes, index: str | None = None) -> None:
    raw = harness.raw.directory
    raw.joinpath(name.log).write_bytes(data)
    raw.joinpath(name.idx).write_text(f"{len(data)}\nCOMPLETED" if index is None else index)


def rows(harness: PipelineHarness) -> list[int]:
    """Clustering values of all delivered events."""
    harness.delivered += [
        str(json.loads(message[2])["after"]["c"]["value"])
        for _, message in harness.sink.messages
        if message[2] is not None
    ]
    harness.sink.messages.clear()
    return [int(text) for text in harness.delivered]


def causes(harness: PipelineHarness, name: SegmentName) -> list[str]:
    reason = harness.quarantine.reason(name)
    return [] if reason is None else [lost.cause for lost in reason.ranges]


@pytest.mark.parametrize("length", [GIB, 2 * GIB - 1, 2 * GIB, 1 << 40])
@pytest.mark.parametrize("index", ["1000000\nCOMPLETED", "1000000"])
def test_sparse_segment_does_not_stop_newer_segments(length: int, index: str) -> None:
    with agent() as harness:
        put(harness, ONE, written(1, 0, 2).data, index)
        os.truncate(harness.raw.directory / ONE.log, length)
        put(harness, TWO, written(2, 10, 3).data)
        harness.settle()
        # A file that ends too early may still grow.
        harness.pass_time(11)
        is_segment = length < 2 * GIB
        assert rows(harness) == [0, 1] * is_segment + [10, 11, 12]
        if "COMPLETED" in index:
            assert ONE.log in harness.quarantined()
        if not is_segment:
            (cause,) = causes(harness, ONE)
            assert str(length) in cause
        # A hole uses no space in the quarantine.
        assert harness.view.quarantine.size_bytes < harness.quarantine.max_bytes


@few
@given(framing=unencrypted, claimed=st.integers(2, 1 << 62))
def test_misnamed_segment_is_quarantined(framing: Framing, claimed: int) -> None:
    name = SegmentName(claimed, 7)
    with agent() as harness:
        put(harness, name, written(1, 0, 2, framing=framing).data)
        put(harness, SegmentName(claimed + 1, 7), written(claimed + 1, 10, 1).data)
        harness.settle()
        assert rows(harness) == [10]
        assert name.log in harness.quarantined()
        (cause,) = causes(harness, name)
        assert "the header has the id 1" in cause
        component = [each for each in harness.view.quarantine.oldest if each.name == name.log]
        assert component[0].causes == (cause,)


@few
@given(
    framing=unencrypted,
    read=st.integers(1, 5),
    is_same=st.booleans(),
    is_live=st.booleans(),
    data=st.data(),
)
def test_partly_read_segment_is_identified_by_content(
    framing: Framing, read: int, is_same: bool, is_live: bool, data: st.DataObject
) -> None:
    first = written(1, 0, 3, 4, framing=framing)
    second = first if is_same else written(1, 100, *data.draw(lengths), framing=framing)
    end = first.section_ends[0] if is_live else first.section_ends[-1]
    with agent(sink=MemorySink(automatic=False), batch_max_events=1) as harness:
        put(harness, ONE, first.data, str(end))
        for _ in range(20):
            harness.tick()
        harness.sink.acknowledge(range(min(read, 3 if is_live else 7)))
        harness.settle()
        harness.end()
        begun = rows(harness)
        path = harness.raw.directory / ONE.log
        other = path.with_name("other")
        other.write_bytes(second.data)
        other.rename(path)
        (harness.raw.directory / ONE.idx).write_text(f"{second.section_ends[-1]}\nCOMPLETED")
        put(harness, TWO, written(2, 50, 1).data)
        harness.sink = MemorySink()
        harness.start()
        harness.settle()
        harness.pass_time(11)
        found = rows(harness)[len(begun) :]
        if is_same:
            assert sorted({*begun, *found}) == [*range(7), 50]
            assert causes(harness, ONE) == []
            assert ONE.log not in harness.raw.names() | harness.quarantined()
        else:
            assert found == [50]
            assert ONE.log in harness.quarantined()
            (cause,) = causes(harness, ONE)
            assert "a different file has replaced" in cause
            # Nothing is lost: a retry publishes all of it.
            (harness.quarantine.directory / f"{ONE.log}.retry").touch()
            harness.pass_time(6)
            harness.pass_time(11)
            assert len(rows(harness)) == len(begun) + 1 + sum(map(len, second.record_ends))


lengths = st.lists(st.integers(1, 3), min_size=1, max_size=4)


@few
# Compressed blocks longer than their content.
@example(LITERALS, [1], [1.0], False, 1)
@given(
    framing=unencrypted,
    sections=lengths,
    cuts=st.lists(st.floats(0, 1), max_size=4),
    index_first=st.booleans(),
    pause_s=st.integers(1, 9),
)
def test_file_growing_after_its_index_is_read_once_complete(
    framing: Framing, sections: list[int], cuts: list[float], index_first: bool, pause_s: int
) -> None:
    segment = written(1, 0, *sections, framing=framing)
    with agent() as harness:
        put(harness, TWO, written(2, 50, 1).data)
        index, log = harness.raw.directory / ONE.idx, harness.raw.directory / ONE.log
        if index_first:
            index.write_text("")
            harness.settle()
        index.write_text(f"{segment.section_ends[-1]}\nCOMPLETED")
        if index_first:
            harness.pass_time(pause_s)
        for cut in sorted(cuts):
            log.write_bytes(segment.data[: int(cut * (segment.chain_end - 1))])
            harness.settle()
            harness.pass_time(pause_s)
        log.write_bytes(segment.data)
        harness.settle()
        harness.pass_time(11)
        assert sorted(set(rows(harness))) == [*range(sum(sections)), 50]
        assert harness.quarantined() == harness.raw.names() == set()


def test_permanently_short_file_is_quarantined() -> None:
    segment = written(1, 0, 3)
    with agent() as harness:
        put(harness, ONE, segment.data[:-20], f"{segment.section_ends[-1]}\nCOMPLETED")
        put(harness, TWO, written(2, 50, 1).data)
        harness.settle()
        blocked = harness.view.blocked
        assert blocked is not None
        assert "may still be writing it" in blocked.message
        harness.pass_time(11)
        assert rows(harness) == [0, 1, 50]
        assert ONE.log in harness.quarantined()


@few
@given(framing=unencrypted, kind=st.sampled_from(("same", "other", "foreign")))
def test_file_replacing_open_segment_is_not_deleted_unread(framing: Framing, kind: str) -> None:
    first = written(1, 0, 3, framing=framing)
    second = {
        "same": first,
        "other": written(1, 100, 2, framing=framing),
        "foreign": written(9, 100, 2, framing=framing),
    }[kind]
    with agent(sink=MemorySink(automatic=False)) as harness:
        put(harness, ONE, first.data, f"{first.section_ends[-1]}\nCOMPLETED")
        harness.settle()
        other = harness.raw.directory.parent / "other"
        other.write_bytes(second.data)
        (harness.raw.directory / ONE.idx).write_text(f"{second.section_ends[-1]}\nCOMPLETED")
        other.rename(harness.raw.directory / ONE.log)
        for _ in range(4):
            harness.acknowledge()
        harness.pass_time(11)
        harness.acknowledge()
        found = rows(harness)
        assert found[:3] == [0, 1, 2]
        assert found[3:] == {"same": [0, 1, 2], "other": [100, 101], "foreign": []}[kind]
        assert (ONE.log in harness.quarantined()) == (kind == "foreign")
        assert harness.raw.names() == set()


@pytest.mark.parametrize("framing", UNENCRYPTED, ids=lambda framing: framing.name)
@pytest.mark.parametrize(
    "version", [6, *(pytest.param(each, marks=pytest.mark.slow) for each in (7, 8)), 9]
)
def test_file_without_index_is_not_deleted_while_copied(framing: Framing, version: int) -> None:
    """The copy pauses at each section end and within each part of sections and header. One agent
    meets all pauses, each in a separate segment."""
    payloads = [[payload(number, 40, version)] for number in range(3)]
    first = write_segment(payloads, version, 1, framing)
    bounds = (*first.markers, first.chain_end)
    cuts = {0, 1, *bounds, *(bound + more for bound in bounds[:-1] for more in (4, 8, 9, 16))}
    with agent() as harness:
        for number, cut in enumerate(sorted(each for each in cuts if each < len(first.data))):
            name, newer = (SegmentName(2 * number + more, version) for more in (1, 2))
            data = write_segment(payloads, version, name.id, framing).data
            other = write_segment([[payload(50, 40, version)]], version, newer.id)
            put_quiet(harness, newer, other.data)
            log = harness.raw.directory / name.log
            log.write_bytes(data[:cut])
            harness.settle()
            harness.pass_time(6)
            harness.settle()
            assert log.exists(), cut
            with log.open("ab") as file:
                file.write(data[cut:])
            # The first read finds that the file grew, the second one that its size is stable.
            harness.pass_time(11)
            harness.pass_time(11)
            assert sorted(set(rows(harness))) == [0, 1, 2, 50], cut
            assert harness.quarantined() == harness.raw.names() == set(), cut
            harness.delivered.clear()


def put_quiet(harness: PipelineHarness, name: SegmentName, data: bytes) -> None:
    """Write a segment with an old modification time."""
    put(harness, name, data)
    os.utime(harness.raw.directory / name.log, (WRITTEN_AT_S, WRITTEN_AT_S))


@pytest.mark.parametrize("version", [6, 7])
def test_old_file_without_index_is_read_immediately(version: int) -> None:
    name, newer = SegmentName(1, version), SegmentName(2, version)
    with agent() as harness:
        for each, number in ((name, 0), (newer, 1)):
            data = write_segment([[payload(number, 40, version)]], version, each.id).data
            put_quiet(harness, each, data)
        (harness.raw.directory / name.idx).unlink()
        harness.settle()
        assert (rows(harness), harness.raw.names()) == ([0, 1], set())
