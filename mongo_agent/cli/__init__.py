"""The command line of the MongoDB agent."""

from mongo_agent.cli.entry import main

__all__ = ["main"]
