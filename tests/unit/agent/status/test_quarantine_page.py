"""The quarantine on the page: each item with the command lines to copy."""

from agent.quarantine.scanner import QuarantinedFiles, QuarantineUsage
from agent.status.quarantine_page import QuarantineCommands

NAME = "CommitLog-7-1.log"
COMMANDS = QuarantineCommands(" --config /etc/cdc.properties")


def commands(files: QuarantinedFiles) -> list[str]:
    usage = QuarantineUsage(5, 1, available=int(files.is_available), oldest=(files,))
    (item,) = COMMANDS.content(usage).items
    return [each.command for each in item.commands]


def test_an_empty_quarantine_has_no_items() -> None:
    held = COMMANDS.content(QuarantineUsage())
    assert (held.message, held.items, held.commands) == ("The quarantine is empty.", (), ())


def test_a_readable_segment_can_be_retried_or_discarded() -> None:
    assert commands(QuarantinedFiles(NAME, True, ranges=2)) == [
        f"agent quarantine retry {NAME} --config /etc/cdc.properties",
        f"agent quarantine discard {NAME} --config /etc/cdc.properties",
    ]


def test_a_missing_segment_can_only_be_discarded() -> None:
    assert commands(QuarantinedFiles(NAME, False, ranges=1)) == [
        f"agent quarantine discard {NAME} --config /etc/cdc.properties"
    ]


def test_a_snapshot_is_copied_again() -> None:
    (first, _) = commands(QuarantinedFiles("snapshot-ks.t", False, dead_letters=1))
    assert first == "agent snapshot start ks.t --config /etc/cdc.properties"


def test_content_causes_and_hidden_items_are_named() -> None:
    files = QuarantinedFiles(
        NAME, False, 1, 2, ("checksum",), "2026-01-31T12:00:00+00:00", is_retry_requested=True
    )
    held = COMMANDS.content(
        QuarantineUsage(5, 3, missing=1, ranges=1, dead_letters=2, oldest=(files,))
    )
    assert held.message == "3 items: 1 undelivered range and 2 dead letters."
    assert held.hidden == 2
    (item,) = held.items
    assert item.content == (
        "1 undelivered range, 2 dead letters, the segment file is missing, a retry is requested"
    )
    assert item.causes[0] == "checksum"
    assert f"{NAME}.events.ndjson" in item.causes[1]
