"""Remote file stores, one module for each kind, and the worker process that accesses a store.

`agent.transfer` sends segments to a store and fetches them from it.
"""
