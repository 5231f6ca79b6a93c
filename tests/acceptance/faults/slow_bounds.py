"""Memory, descriptors, threads and the quarantine under loads that could make them grow."""

import shutil
from dataclasses import replace

from tests.acceptance.faults.filesystem_harness import Agent, FilesystemHarness
from tests.acceptance.faults.process_use import Sampling, Use
from tests.acceptance.faults.recorded import events_of, recording
from tests.acceptance.faults.situation import situation
from tests.acceptance.faults.written import expect_written, put_written
from tests.support.agents.agent_directory import SCHEMA, payload
from tests.support.agents.fault_reports import Report
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
def test_large_mutations(harness: FilesystemHarness, report: Report) -> None:
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
    # An event has its value twice: as JSON and as cells in base64 (4/3); the window holds such
    # events, the reader one record, the sink the lines of one batch.
    event_bytes = 3 * _MUTATION_BYTES
    assert peak.resident_bytes <= idle.resident_bytes + _WINDOW_BYTES + 6 * event_bytes
    assert peak.descriptors <= idle.descriptors + 4
    assert peak.threads <= idle.threads + 1
    growth.require_flat(resident_bytes=32 * _MIB)
    assert harness.recorded() == []
    # Each takes a few times 16 MiB in the reader.
    expect_written(harness, at_once=1)
    assert len(harness.expected) == 3 * _LARGE_SEGMENTS
    report(replace(harness.outcome(), growth=growth))
    remove_large_files(harness)


@situation("A backlog of 10 GB waits in `cdc_raw`: 320 segments of 32 MiB")
def test_backlog_of_ten_gigabytes(harness: FilesystemHarness, report: Report) -> None:
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
    """Cassandra's reader finds in a repeated segment what the row expects of each of them."""
    found = recording("batches")
    path = harness.folder / "CommitLog-7-77.log"
    path.write_bytes(found.repeated(77, copies, _SEGMENT_BYTES))
    schema = harness.folder / "judge.cql"
    schema.write_text(found.schema)
    dump = dump_segments([path], schema)
    assert dump.errors == ()
    assert events_of(dump.ndjson, found.captured) == list(found.events(77, copies))
    path.unlink()
