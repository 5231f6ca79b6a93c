"""Which commands accept which `readConcern` level."""

from collections.abc import Mapping
from typing import Any

from tests.support.mongodb.server.context import Context
from tests.support.mongodb.server.errors import CommandError

_ANY_LEVEL = {"find", "aggregate", "distinct"}
_ALL_BUT_SNAPSHOT = {"count"}


def check_read_concern(context: Context) -> None:
    """Raises the error 72 for a level that the command does not support.

    Writes and commands about the catalogue accept `local` alone, so a snapshot session cannot run
    them. A transaction gives its level with its first command, whatever that command is.
    """
    concern: Mapping[str, Any] = context.body.get("readConcern", {})
    level = concern.get("level")
    if level is None:
        return
    if is_change_stream(context.body):
        if level != "majority":
            raise CommandError(
                72,
                "Aggregation stage $changeStream cannot run with a readConcern other than "
                f"'majority'. Current readConcern: {level}",
            )
    elif "autocommit" not in context.body and not _is_supported(context.name, level):
        message = f"Command {context.name} does not support readConcern {level}"
        raise CommandError(72, f"{message}: read concern not supported")


def is_change_stream(body: Mapping[str, Any]) -> bool:
    """Whether a command opens a change stream."""
    first: Mapping[str, Any] = next(iter(body.get("pipeline", ())), {})
    return "$changeStream" in first


def _is_supported(name: str, level: str) -> bool:
    if name in _ANY_LEVEL or level == "local":
        return True
    return name in _ALL_BUT_SNAPSHOT and level != "snapshot"
