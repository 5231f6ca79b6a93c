"""Remote stores of files, a module for each kind, and the worker process that uses one.

`agent.transfer` sends segments to a store and fetches them from it.
"""
