"""An agent that is frozen for a minute, and thousands of segments at once."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.agent_cli.site import SCHEMA, payload
from tests.faults.conftest import Report
from tests.faults.files_place import Place
from tests.faults.process_use import Sampling
from tests.faults.situation import outcome_of, situation
from tests.faults.written import arrived_rows, put_written

_FROZEN_S = 60
_SEGMENTS = 5000
_BYTES_OF_A_SEGMENT = 8192
"""Bound of what the agent remembers of one segment: name, indexes, ledger, two observations."""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@situation(
    "files",
    "The agent is frozen for a minute (SIGSTOP) while segments are delivered",
    action="goes on where it was",
    health="no answer while it is frozen, ok afterwards",
    arrival="all events, once",
)
def test_frozen_for_a_minute(place: Place, report: Report) -> None:
    place.put_copies("batches", 40, 1000)
    with place.running() as agent:
        agent.until("the first events", lambda: place.events.exists())
        os.kill(agent.pid, signal.SIGSTOP)
        time.sleep(_FROZEN_S)
        place.put("collections")
        os.kill(agent.pid, signal.SIGCONT)
        agent.until_drained()
        agent.until_ok()
        assert agent.stop() == 0
    assert place.recorded() == []
    report(place.outcome())


@situation(
    "files",
    "5,000 segments lie in cdc_raw at the start",
    action="reads them in order; after each look at the directory it pauses for four times the "
    "length of the look",
    health="ok",
    arrival="all events, once, in order",
)
def test_five_thousand_segments(place: Place, report: Report) -> None:
    place.schema.write_text(SCHEMA)
    with place.running() as agent:
        put_written(place, [[payload(0)]], segment_id=1)
        agent.until_drained()
        with Sampling(agent.pid) as alone:
            agent.until_ok()
        assert agent.stop() == 0
    expected = [(1, 0)]
    for number in range(2, _SEGMENTS + 2):
        put_written(place, [[payload(k) for k in range(3)]], segment_id=number)
        expected += [(number, k) for k in range(3)]
    with place.running() as agent:
        with Sampling(agent.pid) as samples:
            agent.wait_until(
                "cdc_raw to be empty", lambda: not any(place.cdc_raw.glob("*.log")), 1800
            )
        agent.until_ok()
        assert agent.stop() == 0
    got = arrived_rows(place.events)
    assert got == sorted(got)
    peak = samples.peak
    assert peak.resident_bytes <= alone.peak.resident_bytes + _SEGMENTS * _BYTES_OF_A_SEGMENT
    assert peak.descriptors <= alone.peak.descriptors + 4
    print(f"\n5,000 segments: peak {peak}, with one {alone.peak}")
    report(outcome_of(expected, got))
