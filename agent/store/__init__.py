"""Stores of segments on other machines, a file for each kind, and the process that works with one.

What sends to them and fetches from them is in `agent.transfer`.
"""

from agent.store.remote_directory import RemoteDirectory, parse_remote_directory

__all__ = ["RemoteDirectory", "parse_remote_directory"]
