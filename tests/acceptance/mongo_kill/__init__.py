"""The kill test: a replica set, a real broker, the real agent, and all of them hurt at random.

`workload` writes and remembers what became of every document, `checks` says what must hold of the
records that arrived, `harness` holds the parts and `faults` what happens to them.
"""
