"""The command line: `mongo-agent run`, `config`, `check`, `plan`, `offsets`, `snapshot`."""

from mongo_agent.cli.entry import main

__all__ = ["main"]
