"""Memory, descriptors, threads and the quarantine under loads that could make them grow."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.acceptance.faults.files_place import Agent, Place
from tests.acceptance.faults.process_use import Sampling, Use
from tests.acceptance.faults.recorded import events_of, recording
from tests.acceptance.faults.situation import situation
from tests.acceptance.faults.written import expect_written, put_written
from tests.support.agent_directory import SCHEMA, payload
from tests.support.fault_reports import Report
from tests.support.servers.java_reader import dump_segments

_MIB = 1 << 20
_DEADLINE_S = 3600.0
_MUTATION_BYTES = 16 * _MIB
_WINDOW_BYTES = 64 * _MIB
"""`inflight.max.bytes` of these agents."""
_BACKLOG_BYTES = 10 << 30


_SEGMENT_BYTES = 32 * _MIB
_NEEDED_BYTES = 20 * 10**9
"""The backlog, its events and room for others."""
_LARGE_SEGMENTS = 12


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def use_when_idle(agent: Agent) -> Use:
    """What it uses with nothing to do."""
    agent.until_ok()
    with Sampling(agent.pid) as samples:
        agent.until_ok()
    return samples.peak


def remove_large_files(place: Place) -> None:
    """pytest keeps the directories of its last three runs."""
    place.events.unlink()
    shutil.rmtree(place.folder / "written", ignore_errors=True)


@situation(
    "bounds",
    "Mutations of 16 MiB, three in each segment of 48 MiB",
    action="It reads one mutation at a time. Memory holds `inflight.max.bytes` and a few "
    "mutations; in the last third of the run it exceeds that of the first by at most 32 MiB.",
    health="`ok`",
    arrival="All events, once.",
)
def test_large_mutations(place: Place, report: Report) -> None:
    place.schema.write_text(SCHEMA)
    settings = {"inflight.max.bytes": str(_WINDOW_BYTES)}
    with place.running(settings) as agent:
        idle = use_when_idle(agent)
        with Sampling(agent.pid, place.relocation / "error") as samples:
            for number in range(1, _LARGE_SEGMENTS + 1):
                rows = [payload(k, b"x" * (_MUTATION_BYTES - 200)) for k in range(3)]
                put_written(place, [[row] for row in rows], segment_id=number)
                agent.wait_until(
                    "cdc_raw to be empty",
                    lambda: not any(place.cdc_raw.glob("*.log")),
                    _DEADLINE_S,
                )
        agent.until_ok()
        assert agent.stop() == 0
    peak, growth = samples.peak, samples.growth
    print(f"\n16 MiB mutations: idle {idle}, peak {peak}, {growth}")
    # An event has its value twice: as JSON and as cells in base64 (4/3); the window holds such
    # events, the reader one record, the sink the lines of one batch.
    event_bytes = 3 * _MUTATION_BYTES
    assert peak.resident_bytes <= idle.resident_bytes + _WINDOW_BYTES + 6 * event_bytes
    assert peak.descriptors <= idle.descriptors + 4
    assert peak.threads <= idle.threads + 1
    growth.require_flat(resident_bytes=32 * _MIB)
    assert place.recorded() == []
    # Each takes a few times 16 MiB in the reader.
    expect_written(place, at_once=1)
    assert len(place.expected) == 3 * _LARGE_SEGMENTS
    report(replace(place.outcome(), growth=growth))
    remove_large_files(place)


@situation(
    "bounds",
    "A backlog of 10 GB waits in `cdc_raw`: 320 segments of 32 MiB",
    action="It reads the segments in order. In the last third of the run its memory exceeds that "
    "of the first by at most 32 MiB.",
    health="`ok`",
    arrival="All events, once.",
)
def test_backlog_of_ten_gigabytes(place: Place, report: Report) -> None:
    free_bytes = shutil.disk_usage(place.folder).free
    assert free_bytes >= _NEEDED_BYTES, f"{place.folder}: {free_bytes} bytes free; 20 GB needed"
    found = recording("batches")
    copies = _SEGMENT_BYTES // found.chain_end()
    _judge_repeated(place, copies)
    count = _BACKLOG_BYTES // _SEGMENT_BYTES
    for segment_id in range(1, count + 1):
        path = place.cdc_raw / f"CommitLog-7-{segment_id}.log"
        path.write_bytes(found.repeated(segment_id, copies, _SEGMENT_BYTES))
        path.with_name(f"{path.stem}_cdc.idx").write_text(f"{found.chain_end(copies)}\nCOMPLETED\n")
        place.expected += found.events(segment_id, copies)
    settings = {"inflight.max.bytes": str(_WINDOW_BYTES)}
    with place.running(settings) as agent:
        agent.until("the first events", lambda: place.events.exists())
        with Sampling(agent.pid, place.relocation / "error") as samples:
            agent.wait_until(
                "cdc_raw to be empty", lambda: not any(place.cdc_raw.glob("*.log")), _DEADLINE_S
            )
        agent.until_ok()
        assert agent.stop() == 0
    growth = samples.growth
    print(f"\n10 GB in {count} segments: peak {samples.peak}, {growth}")
    growth.require_flat(resident_bytes=32 * _MIB)
    assert place.recorded() == []
    report(replace(place.outcome(), growth=growth))
    remove_large_files(place)


def _judge_repeated(place: Place, copies: int) -> None:
    """Cassandra's reader finds in a repeated segment what the row expects of each of them."""
    found = recording("batches")
    path = place.folder / "CommitLog-7-77.log"
    path.write_bytes(found.repeated(77, copies, _SEGMENT_BYTES))
    schema = place.folder / "judge.cql"
    schema.write_text(found.schema)
    dump = dump_segments([path], schema)
    assert dump.errors == ()
    assert events_of(dump.ndjson, found.captured) == list(found.events(77, copies))
    path.unlink()
