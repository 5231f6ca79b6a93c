"""An agent that is frozen for a minute, and thousands of segments at once."""

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

from tests.acceptance.faults.filesystem_harness import FilesystemHarness
from tests.acceptance.faults.process_use import Sampling
from tests.acceptance.faults.recorded import arrived
from tests.acceptance.faults.situation import situation
from tests.acceptance.faults.written import arrived_rows, expect_written, put_written
from tests.support.agents.agent_directory import SCHEMA, payload
from tests.support.agents.fault_reports import Report

_FROZEN_S = 60
_SEGMENTS = 5000
_BYTES_OF_A_SEGMENT = 8192
"""Bound of what the agent remembers of one segment: name, indexes, ledger, two observations."""


def are_stopped(pid: int) -> bool:
    """Whether the signal has reached every thread; `kill` does not wait for that."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    # The state follows the name, which may have spaces and parentheses.
    states = [(each / "stat").read_text().rpartition(") ")[2][0] for each in threads]
    return all(state == "T" for state in states)


@situation("The agent is frozen for a minute (SIGSTOP) while segments are delivered")
def test_frozen_for_a_minute(harness: FilesystemHarness, report: Report) -> None:
    harness.put_copies("batches", 200, 1000)
    with harness.running() as agent:
        agent.until("the first events", lambda: bool(arrived(harness.events)))
        os.kill(agent.pid, signal.SIGSTOP)
        agent.until("all threads to stop", lambda: are_stopped(agent.pid))
        assert harness.undelivered() != []
        assert agent.body() is None
        time.sleep(_FROZEN_S)
        harness.put("collections")
        os.kill(agent.pid, signal.SIGCONT)
        agent.finish()
    report(harness.complete())


@situation("5,000 segments wait in `cdc_raw` at the start")
def test_five_thousand_segments(harness: FilesystemHarness, report: Report) -> None:
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
