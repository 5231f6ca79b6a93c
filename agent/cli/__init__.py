"""The command line: `agent run`, `config`, `check`, `offsets`, `dump`."""

from agent.cli.entry import main

__all__ = ["main"]
