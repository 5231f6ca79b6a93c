"""The command line of the agent, a module for each command."""

from agent.cli.entry import main

__all__ = ["main"]
