"""The kill test: a replica set, a real broker and the real agent, all with random faults.

`workload` writes and records the history of every document, `checks` contains the conditions on
arrived records, `harness` the servers and `faults` the faults.
"""
