"""Records the peer: all its cases in segments, and what it sends of them (`tests.peer`)."""

from pathlib import Path

from tests.peer.recording import FOLDER
from tests.peer.run import run


def record(scratch: Path) -> str:
    """Fill `tests/fixtures/peer`."""
    recording = run(FOLDER, scratch, live=False, progress=lambda _: None)
    events = sum(len(case.sent) for case in recording.cases)
    return f"{len(recording.cases)} cases, {events} events"
