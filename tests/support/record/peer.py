"""Records the peer: all its cases in segments, what it sends of them, and the page on both."""

from pathlib import Path

from tests.oracle.debezium.document import PATH, document
from tests.oracle.debezium.next_release import Results
from tests.oracle.debezium.recording import FOLDER
from tests.oracle.debezium.run import run


def record(scratch: Path) -> str:
    """Fill `tests/fixtures/peer` and write docs/reference/debezium-differences.md."""
    recording = run(FOLDER, scratch, live=False, progress=lambda _: None)
    ours = recording.ours(scratch)
    pairs = list(zip(recording.cases, ours, strict=True))
    PATH.write_text(document(pairs, Results.load()), "utf-8")
    events = sum(len(case.sent) for case in recording.cases)
    return f"{len(recording.cases)} cases, {events} events"
