"""Memory, descriptors, threads and the quarantine under loads that could make them grow."""

from pathlib import Path

import pytest

from tests.agent_cli.site import SCHEMA, payload
from tests.faults.conftest import Report
from tests.faults.files_place import Agent, Place
from tests.faults.process_use import Sampling, Use
from tests.faults.recorded import recording
from tests.faults.situation import outcome_of, situation
from tests.faults.written import arrived_rows, put_written

_MIB = 1 << 20
_DEADLINE_S = 3600.0
_MUTATION_BYTES = 16 * _MIB
_WINDOW_BYTES = 64 * _MIB
"""`inflight.max.bytes` of these agents."""
_BACKLOG_BYTES = 10 << 30


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def use_when_idle(agent: Agent) -> Use:
    """What it uses with nothing to do."""
    agent.until_ok()
    with Sampling(agent.pid) as samples:
        agent.until_ok()
    return samples.peak


@situation(
    "bounds",
    "Mutations of 16 MiB, three in each segment of 64 MiB",
    action="reads one mutation at a time; memory is bounded by the window and a few mutations",
    health="ok",
    arrival="all events, once",
)
def test_large_mutations(place: Place, report: Report) -> None:
    place.schema.write_text(SCHEMA)
    settings = {"inflight.max.bytes": str(_WINDOW_BYTES)}
    expected = []
    with place.running(settings) as agent:
        idle = use_when_idle(agent)
        with Sampling(agent.pid) as samples:
            for number in range(1, 9):
                rows = [payload(k, b"x" * (_MUTATION_BYTES - 200)) for k in range(3)]
                put_written(place, [[row] for row in rows], segment_id=number)
                expected += [(number, k) for k in range(3)]
                agent.wait_until(
                    "cdc_raw to be empty",
                    lambda: not any(place.cdc_raw.glob("*.log")),
                    _DEADLINE_S,
                )
        agent.until_ok()
        assert agent.stop() == 0
    peak = samples.peak
    print(f"\n16 MiB mutations: idle {idle}, peak {peak}")
    # An event has its value twice: as JSON and as cells in base64 (4/3); the window holds such
    # events, the reader one record, the sink the lines of one batch.
    event_bytes = 3 * _MUTATION_BYTES
    assert peak.resident_bytes <= idle.resident_bytes + _WINDOW_BYTES + 6 * event_bytes
    assert peak.descriptors <= idle.descriptors + 4
    assert peak.threads <= idle.threads + 1
    assert place.recorded() == []
    report(outcome_of(expected, arrived_rows(place.events)))


@situation(
    "bounds",
    "A backlog of 10 GB lies in cdc_raw",
    action="reads it in order; memory, descriptors and threads stay flat",
    health="ok",
    arrival="all events, once",
)
def test_backlog_of_ten_gigabytes(place: Place, report: Report) -> None:
    found = recording("batches")
    settings = {"inflight.max.bytes": str(_WINDOW_BYTES)}
    count = _BACKLOG_BYTES // len(found.data)
    for segment_id in range(1, count + 1):
        path = place.cdc_raw / f"CommitLog-7-{segment_id}.log"
        path.write_bytes(found.relabelled(segment_id))
        path.with_name(f"{path.stem}_cdc.idx").write_text(found.idx)
        place.expected += found.events(segment_id)
    with place.running(settings) as agent:
        agent.until("the first events", lambda: place.events.exists())
        with Sampling(agent.pid) as samples:
            agent.wait_until(
                "cdc_raw to be empty", lambda: not any(place.cdc_raw.glob("*.log")), _DEADLINE_S
            )
        agent.until_ok()
        assert agent.stop() == 0
    parts = samples.peaks(4)
    print(f"\n10 GB in {count} segments: " + ", ".join(map(str, parts)))
    first, last = parts[0], parts[-1]
    assert samples.peak.resident_bytes <= first.resident_bytes + _WINDOW_BYTES
    assert last.descriptors <= first.descriptors + 2
    assert last.threads <= first.threads
    assert place.recorded() == []
    report(place.outcome())
