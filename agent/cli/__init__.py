"""The command line of the agent, with one module for each command."""

from agent.cli.entry import main

__all__ = ["main"]
