"""Benchmarks: what they measure and how to read them is in docs/evidence/benchmarks.md."""
