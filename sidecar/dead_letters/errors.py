"""Failures to record dead letters: logged once, and reported while they last."""

import logging
from pathlib import Path

from sidecar.logs import RateLimitedLog

RETRY_S = 1.0
"""Pause after the quarantine could not be written."""


class RecordingErrors:
    """Errors by what failed. For one thread."""

    def __init__(self, logger: logging.Logger) -> None:
        self._log = RateLimitedLog(logger)
        self._messages: dict[str, str] = {}

    @property
    def message(self) -> str:
        """All errors that last; empty without one."""
        return " ".join(self._messages.values())

    def report(self, operation: str, message: str) -> None:
        """The operation failed."""
        self._messages[operation] = message
        self._log.log(operation, message)

    def resolve(self, operation: str) -> None:
        """The operation succeeded, or is not needed any more."""
        if self._messages.pop(operation, None) is not None:
            self._log.resolved(operation, "The agent can write to the quarantine again.")


def not_writable(directory: Path, error: OSError, consequence: str) -> str:
    """The message for a quarantine that rejects a write."""
    reason = error.strerror or error
    return f"The quarantine {directory} cannot be written, so {consequence}: {reason}."


def full(directory: Path, consequence: str) -> str:
    """The message for a quarantine without room."""
    return (
        f"The quarantine {directory} is full, so {consequence}. Discard entries that are settled, "
        "or raise quarantine.max.bytes."
    )
