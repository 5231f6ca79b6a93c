"""Failures of the quarantine: logged once, reported while they last."""

import logging
from pathlib import Path

import pytest

from sidecar.dead_letters.dead_letter import RecordingErrors, full, not_writable


def test_quarantine_error_lasts_until_operation_succeeds(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    errors = RecordingErrors(logging.getLogger("test"))
    errors.report("keep", "The quarantine is full.")
    errors.report("keep", "The quarantine is full.")
    errors.report("look", "It cannot be read.")
    assert errors.message == "The quarantine is full. It cannot be read."
    errors.resolve("keep")
    errors.resolve("keep")
    assert errors.message == "It cannot be read."
    assert caplog.messages.count("The quarantine is full.") == 1
    assert caplog.messages.count("The agent can write to the quarantine again.") == 1


def test_quarantine_messages_contain_directory_cause_and_remedy() -> None:
    error = OSError(28, "No space left on device")
    assert not_writable(Path("/q"), error, "delivery waits") == (
        "The quarantine /q cannot be written, so delivery waits: No space left on device."
    )
    assert "raise quarantine.max.bytes" in full(Path("/q"), "delivery waits")
