"""The quarantine on the page: each file with the command lines to copy."""

from mongo_agent.dead_letters.quarantine import Usage
from mongo_agent.status.quarantine_page import QuarantineFiles

FILES = QuarantineFiles("/var/lib/cdc/a b", " --config /etc/mongo.properties")


def test_an_empty_quarantine_has_no_items() -> None:
    assert FILES.content(Usage()).items == ()


def test_lost_changes_are_copied_again_and_dead_letters_read() -> None:
    held = FILES.content(Usage(9, dead_letters=1, gaps=2))
    assert held.message == "2 lost ranges of time and 1 dead letter."
    gaps, letters = held.items
    assert gaps.commands[0].command == (
        "mongo-agent snapshot start '.*' --config /etc/mongo.properties"
    )
    assert letters.commands[0].command == "less '/var/lib/cdc/a b/refused.ndjson'"
    assert letters.commands[1].command == (
        "mv -n '/var/lib/cdc/a b/refused.ndjson' '/var/lib/cdc/a b/refused-handled.ndjson'"
    )
