"""Remote stores of segments, a module for each kind, and the worker process that uses one.

`agent.transfer` sends to a store and fetches from it.
"""

from agent.store.remote_directory import RemoteDirectory, parse_remote_directory

__all__ = ["RemoteDirectory", "parse_remote_directory"]
