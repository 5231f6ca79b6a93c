"""The kill test: a real node, a real broker and the real agent, all killed at random.

`harness` runs the three, `faults` contains the faults, `round` one round of writes, faults and
comparison, `checks` the conditions on arrived records. docs/evidence/kill-test.md describes the
proof.
"""
