"""Benchmarks; docs/evidence/benchmarks.md describes them and their results."""
