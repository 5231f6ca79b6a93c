"""The fault matrix: one test for each situation, and one row of docs/faults.md for each test.

Modules `test_*.py` need no server and take seconds; `make test` runs them. Modules `slow_*.py`
start real servers; `make faults` runs them as well and records what each of them measured.
"""
