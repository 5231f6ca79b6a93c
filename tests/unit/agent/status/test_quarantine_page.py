"""The quarantine on the page: each item with the command lines to copy."""

import pytest

from agent.quarantine.scanner import QuarantinedFiles, QuarantineUsage
from agent.status.quarantine_page import QuarantineCommands

NAME = "CommitLog-7-1.log"
COMMANDS = QuarantineCommands(" --config /etc/cdc.properties")


def test_an_empty_quarantine_has_no_items() -> None:
    held = COMMANDS.content(QuarantineUsage())
    assert (held.message, held.items, held.commands) == ("The quarantine is empty.", (), ())


@pytest.mark.parametrize(
    ("files", "first", "count"),
    [
        (QuarantinedFiles(NAME, True, ranges=2), f"quarantine retry {NAME}", 2),
        (QuarantinedFiles(NAME, False, ranges=1), f"quarantine discard {NAME}", 1),
        (QuarantinedFiles("snapshot-ks.t", False, dead_letters=1), "snapshot start ks.t", 2),
    ],
    ids=["readable", "missing", "snapshot"],
)
def test_an_item_has_its_commands(files: QuarantinedFiles, first: str, count: int) -> None:
    usage = QuarantineUsage(5, 1, available=int(files.is_available), oldest=(files,))
    (item,) = COMMANDS.content(usage).items
    discard = f"agent quarantine discard {files.name} --config /etc/cdc.properties"
    lines = [f"agent {first} --config /etc/cdc.properties", discard]
    assert [each.command for each in item.commands] == lines[:count]


def test_content_causes_and_hidden_items_are_named() -> None:
    files = QuarantinedFiles(
        NAME, False, 1, 2, ("checksum",), "2026-01-31T12:00:00+00:00", is_retry_requested=True
    )
    held = COMMANDS.content(
        QuarantineUsage(5, 3, missing=1, ranges=1, dead_letters=2, oldest=(files,))
    )
    assert (held.message, held.hidden) == ("3 items: 1 undelivered range and 2 dead letters.", 2)
    (item,) = held.items
    assert item.content == (
        "1 undelivered range, 2 dead letters, the segment file is missing, a retry is requested"
    )
    assert item.causes[0] == "checksum"
    assert f"{NAME}.events.ndjson" in item.causes[1]
