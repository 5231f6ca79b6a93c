"""The merge rules of Cassandra as native Spark expressions: precedence of cells, and counters.

Every function maps columns to columns, and none runs in Python. Tests compare the results with a
merge in plain Python (`tests/oracle`).
"""
