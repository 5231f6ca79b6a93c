"""The commands that a member knows, by name."""

from tests.harness.mongo.commands import (
    administration,
    authentication,
    catalogue,
    reading,
    sessions,
    shards,
    writing,
)
from tests.harness.mongo.commands.command import Command

COMMANDS: dict[str, Command] = {
    name: command
    for module in (administration, authentication, catalogue, reading, sessions, shards, writing)
    for name, command in module.COMMANDS.items()
}

__all__ = ["COMMANDS", "Command"]
