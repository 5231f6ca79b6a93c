"""Remote stores of segments, a module for each kind, and the worker process that uses one.

`agent.transfer` sends to a store and fetches from it.
"""
