"""`make peer`: all cases live, our events beside Debezium's. `--next-release` runs both on the next
release of Cassandra. `--document` writes the docs page."""

import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from tests.oracle.debezium import next_release
from tests.oracle.debezium.comparison import difference
from tests.oracle.debezium.differences import flaw_of
from tests.oracle.debezium.document import PATH, document
from tests.oracle.debezium.recording import Recording
from tests.oracle.debezium.run import run
from tests.support.servers.cache import cache_directory


@click.command()
@click.option(
    "--document", "is_document", is_flag=True, help="Write docs/reference/debezium-differences.md."
)
@click.option(
    "--next-release", "is_next", is_flag=True, help="Run both on the next release of Cassandra."
)
def main(is_document: bool, is_next: bool) -> None:
    """Compare events with a live Debezium."""
    console = Console()
    with tempfile.TemporaryDirectory(prefix="peer-", dir=cache_directory()) as scratch:
        if is_document:
            recording = Recording.load()
            pairs = list(zip(recording.cases, recording.ours(Path(scratch)), strict=True))
            PATH.write_text(document(pairs, next_release.Results.load()), "utf-8")
            return
        if is_next:
            with console.status("starting a node and a broker") as status:
                results = next_release.run(Path(scratch), status.update)
            results.save()
            console.print(json.dumps(asdict(results), indent=2), highlight=False)
            return
        with console.status("starting a node and a broker") as status:
            recording = run(
                Path(scratch) / "recording", Path(scratch), live=True, progress=status.update
            )
            status.update("comparing")
            sys.exit(0 if _compare(console, recording, Path(scratch)) else 1)


def _compare(console: Console, recording: Recording, scratch: Path) -> bool:
    """Print unexpected differences."""
    equal = wrong = failed = 0
    for case, ours in zip(recording.cases, recording.ours(scratch), strict=True):
        flaw = flaw_of(case.name)
        left = difference(case.sent, ours, flaw.mend if flaw else None)
        is_expected = not left if flaw is None or flaw.mend else bool(left)
        if is_expected:
            equal += flaw is None
            wrong += flaw is not None
            continue
        failed += 1
        console.print(f"[bold red]{case.name}[/]: ", *case.statements, highlight=False)
        for name, events in (("Debezium", left.theirs), ("cdc-sidecar", left.ours)):
            for event in events:
                console.print(f"  only {name}: {event.key} {event.value}", highlight=False)
    sent = sum(len(case.sent) for case in recording.cases)
    repeats = sent - len(
        {(e.position, str(e.value["after"])) for c in recording.cases for e in c.sent}
    )
    console.print(
        f"{equal} cases are equal, {wrong} differ as documented, {failed} do not. "
        f"Debezium sent {sent} events, {repeats} of them again.",
        highlight=False,
    )
    return not failed


if __name__ == "__main__":
    main()
