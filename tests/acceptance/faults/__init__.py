"""The fault matrix: one test for each situation, and one row of the page for each.

The page is docs/evidence/faults.md.

Modules `test_*.py` need no server and take seconds; `make test` runs them. Modules `slow_*.py`
start real servers; `make faults` also runs them and records their figures.
"""
