"""Memory, descriptors, threads and the quarantine under heavy loads, thousands of segments at once,
and an agent that is frozen for a minute."""

import json
import os
import shutil
import signal
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from tests.acceptance.faults.filesystem_harness import Agent, FilesystemHarness
from tests.acceptance.faults.recorded import arrived, events_of, recording
from tests.acceptance.faults.situation import Sampling, Use, situation
from tests.support.agents.agent_directory import SCHEMA, TABLE_ID, payload, write_segment
from tests.support.agents.fault_reports import Report
from tests.support.servers.java_reader import dump_segments
from tests.support.servers.processes import freeze

_MIB = 1 << 20
_DEADLINE_S = 3600.0
_MUTATION_BYTES = 16 * _MIB
_WINDOW_BYTES = 64 * _MIB
"""`inflight.max.bytes` of these agents."""
_BACKLOG_BYTES = 10 << 30


_SEGMENT_BYTES = 32 * _MIB
_NEEDED_BYTES = 20 * 10**9
"""Space for the backlog, its events and other files."""
_LARGE_SEGMENTS = 12


def use_when_idle(agent: Agent) -> Use:
    """Resources of the idle agent."""
    agent.until_ok()
    with Sampling(agent.pid) as samples:
        agent.until_ok()
    return samples.peak


def remove_large_files(harness: FilesystemHarness) -> None:
    """pytest keeps the directories of its last three runs."""
    harness.events.unlink()
    shutil.rmtree(harness.folder / "written", ignore_errors=True)


@situation("Mutations of 16 MiB, three in each segment of 48 MiB")
def test_large_mutations_take_bounded_memory(harness: FilesystemHarness, report: Report) -> None:
    harness.schema.write_text(SCHEMA)
    settings = {"inflight.max.bytes": str(_WINDOW_BYTES)}
    with harness.running(settings) as agent:
        idle = use_when_idle(agent)
        with Sampling(agent.pid, harness.relocation / "error") as samples:
            for number in range(1, _LARGE_SEGMENTS + 1):
                rows = [payload(k, b"x" * (_MUTATION_BYTES - 200)) for k in range(3)]
                put_written(harness, [[row] for row in rows], segment_id=number)
                agent.wait_until(
                    "cdc_raw to be empty",
                    lambda: not any(harness.cdc_raw.glob("*.log")),
                    _DEADLINE_S,
                )
        agent.until_ok()
        assert agent.stop() == 0
    peak, growth = samples.peak, samples.growth
    print(f"\n16 MiB mutations: idle {idle}, peak {peak}, {growth}")
    # An event contains its value twice: as JSON and as cells in base64 (4/3). The window holds such
    # events, the reader one record, the sink the lines of one batch.
    event_bytes = 3 * _MUTATION_BYTES
    assert peak.resident_bytes <= idle.resident_bytes + _WINDOW_BYTES + 6 * event_bytes
    assert peak.descriptors <= idle.descriptors + 4
    assert peak.threads <= idle.threads + 1
    growth.require_flat(resident_bytes=32 * _MIB)
    assert harness.recorded() == []
    # Each mutation takes several times 16 MiB in the reader.
    expect_written(harness, at_once=1)
    assert len(harness.expected) == 3 * _LARGE_SEGMENTS
    report(replace(harness.outcome(), growth=growth))
    remove_large_files(harness)


@situation("A backlog of 10 GB waits in `cdc_raw`: 320 segments of 32 MiB")
def test_large_backlog_takes_bounded_memory(harness: FilesystemHarness, report: Report) -> None:
    free_bytes = shutil.disk_usage(harness.folder).free
    assert free_bytes >= _NEEDED_BYTES, f"{harness.folder}: {free_bytes} bytes free; 20 GB needed"
    found = recording("batches")
    copies = _SEGMENT_BYTES // found.chain_end()
    _judge_repeated(harness, copies)
    count = _BACKLOG_BYTES // _SEGMENT_BYTES
    for segment_id in range(1, count + 1):
        path = harness.cdc_raw / f"CommitLog-7-{segment_id}.log"
        path.write_bytes(found.repeated(segment_id, copies, _SEGMENT_BYTES))
        path.with_name(f"{path.stem}_cdc.idx").write_text(f"{found.chain_end(copies)}\nCOMPLETED\n")
        harness.expected += found.events(segment_id, copies)
    settings = {"inflight.max.bytes": str(_WINDOW_BYTES)}
    with harness.running(settings) as agent:
        agent.until("the first events", lambda: harness.events.exists())
        with Sampling(agent.pid, harness.relocation / "error") as samples:
            agent.wait_until(
                "cdc_raw to be empty", lambda: not any(harness.cdc_raw.glob("*.log")), _DEADLINE_S
            )
        agent.until_ok()
        assert agent.stop() == 0
    growth = samples.growth
    print(f"\n10 GB in {count} segments: peak {samples.peak}, {growth}")
    growth.require_flat(resident_bytes=32 * _MIB)
    assert harness.recorded() == []
    report(replace(harness.outcome(), growth=growth))
    remove_large_files(harness)


def _judge_repeated(harness: FilesystemHarness, copies: int) -> None:
    """Cassandra's reader finds the expected events of each row in a repeated segment."""
    found = recording("batches")
    path = harness.folder / "CommitLog-7-77.log"
    path.write_bytes(found.repeated(77, copies, _SEGMENT_BYTES))
    schema = harness.folder / "judge.cql"
    schema.write_text(found.schema)
    dump = dump_segments([path], schema)
    assert dump.errors == ()
    assert events_of(dump.ndjson, found.captured) == list(found.events(77, copies))
    path.unlink()


_FROZEN_S = 60
_SEGMENTS = 5000
_BYTES_OF_A_SEGMENT = 8192
"""Upper bound of the agent's memory for one segment: name, indexes, ledger, two observations."""


@situation("The agent is frozen for a minute (SIGSTOP) while segments are delivered")
def test_agent_resumes_after_a_frozen_minute(harness: FilesystemHarness, report: Report) -> None:
    harness.put_copies("batches", 200, 1000)
    with harness.running() as agent:
        agent.until("the first events", lambda: bool(arrived(harness.events)))
        freeze(agent.pid)
        assert harness.undelivered() != []
        assert agent.body() is None
        time.sleep(_FROZEN_S)
        harness.put("collections")
        os.kill(agent.pid, signal.SIGCONT)
        agent.finish()
    report(harness.complete())


@situation("5,000 segments wait in `cdc_raw` at the start")
def test_5000_segments_take_bounded_resources(harness: FilesystemHarness, report: Report) -> None:
    harness.schema.write_text(SCHEMA)
    with harness.running() as agent:
        put_written(harness, [[payload(0)]], segment_id=1)
        agent.until_drained()
        with Sampling(agent.pid) as alone:
            agent.until_ok()
        assert agent.stop() == 0
    for number in range(2, _SEGMENTS + 2):
        put_written(harness, [[payload(k) for k in range(3)]], segment_id=number)
    with harness.running() as agent:
        with Sampling(agent.pid, harness.relocation / "error") as samples:
            agent.wait_until(
                "cdc_raw to be empty", lambda: not any(harness.cdc_raw.glob("*.log")), 1800
            )
        agent.until_ok()
        assert agent.stop() == 0
    got = arrived_rows(harness.events)
    assert got == sorted(got)
    peak = samples.peak
    assert peak.resident_bytes <= alone.peak.resident_bytes + _SEGMENTS * _BYTES_OF_A_SEGMENT
    assert peak.descriptors <= alone.peak.descriptors + 4
    growth = samples.growth
    print(f"\n5,000 segments: peak {peak}, with one {alone.peak}, {growth}")
    growth.require_flat(resident_bytes=16 << 20)
    assert harness.recorded() == []
    expect_written(harness, at_once=1000)
    assert len(harness.expected) == 3 * _SEGMENTS + 1
    report(replace(harness.outcome(), growth=growth))


_COPIES = "written"

Row = tuple[int, int]
"""Segment id and clustering of a row of `ks.t` (`tests.support.agents.agent_directory`)."""


def put_written(
    harness: FilesystemHarness, sections: Iterable[Sequence[bytes]], segment_id: int
) -> Path:
    """Add a complete segment in the order of a node: a hard link, the index, and then the removal
    of the node's own name. An index without its segment would mean a deleted segment. The judge
    receives a copy."""
    path = write_segment(harness.folder, segment_id, sections)
    copies = harness.folder / _COPIES
    copies.mkdir(exist_ok=True)
    shutil.copyfile(path, copies / path.name)
    linked = harness.cdc_raw / path.name
    linked.hardlink_to(path)
    idx = f"{path.stem}_cdc.idx"
    (harness.folder / idx).rename(harness.cdc_raw / idx)
    path.unlink()
    return linked


def expect_written(harness: FilesystemHarness, at_once: int) -> None:
    """Read the copies with Cassandra's reader, `at_once` at a time, and expect its events."""
    paths = sorted((harness.folder / _COPIES).iterdir())
    for first in range(0, len(paths), at_once):
        dump = dump_segments(paths[first : first + at_once], harness.schema)
        assert dump.errors == ()
        assert dump.unknown == {}
        harness.expected += events_of(dump.ndjson, {str(TABLE_ID)})


def arrived_rows(file: Path) -> list[Row]:
    """Rows that the file sink has written, in order."""
    found = []
    with file.open("rb") as lines:
        for line in map(json.loads, lines):
            segment_id = int(line["headers"]["cdc.source"].rsplit("/", 3)[1])
            found.append((segment_id, int(line["value"]["after"]["c"]["value"])))
    return found
