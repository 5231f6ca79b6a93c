"""The kill test: a real node, a real broker, the real agent, and all of them killed at random.

`harness` holds the three, `faults` what happens to them, `round` one round of writing, faults and
comparison, `checks` what must hold of the records that arrived. docs/evidence/kill-test.md
describes the proof.
"""
