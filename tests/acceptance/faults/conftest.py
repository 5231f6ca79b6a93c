"""Collects the measurements of each test of the matrix, and stores them on request."""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.acceptance.faults.filesystem_harness import FilesystemHarness
from tests.acceptance.faults.matrix import RESULTS
from tests.acceptance.faults.situation import MARKER, Outcome
from tests.support.agents.fault_reports import Report

RECORD = "CDC_RECORD_FAULTS"


@pytest.fixture
def harness(reachable_folder: Path) -> FilesystemHarness:
    return FilesystemHarness(reachable_folder)


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Iterator[Report]:
    """Call it once with the measurements of the test. No event may be lost or invented."""
    outcomes: list[Outcome] = []
    yield outcomes.append
    marker = request.node.get_closest_marker(MARKER)
    if marker is None or len(outcomes) != 1:
        return
    if os.environ.get(RECORD):
        _record(marker.args[0], outcomes[0])
    assert (outcomes[0].lost, outcomes[0].invented) == (0, 0), outcomes[0]


def _record(name: str, outcome: Outcome, path: Path = RESULTS) -> None:
    results = json.loads(path.read_text()) if path.exists() else {}
    found = asdict(outcome)
    results[name] = {key: value for key, value in found.items() if value is not None}
    path.write_text(json.dumps(dict(sorted(results.items())), indent=1) + "\n")
