"""Sinks: one module or package for each kind, found by name in `registry`."""
