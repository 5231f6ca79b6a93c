"""The commands that a member knows, by name."""

from tests.support.mongodb.server.commands import (
    administration,
    authentication,
    catalogue,
    reading,
    sessions,
    shards,
    user_management,
    writing,
)
from tests.support.mongodb.server.commands.command import Command

COMMANDS: dict[str, Command] = {
    name: command
    for module in (
        administration,
        authentication,
        catalogue,
        reading,
        sessions,
        shards,
        user_management,
        writing,
    )
    for name, command in module.COMMANDS.items()
}

__all__ = ["COMMANDS", "Command"]
