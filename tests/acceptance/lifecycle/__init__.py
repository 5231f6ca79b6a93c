"""Scenarios of docs/how-to/lifecycle.md on real nodes and brokers; `make lifecycle` runs all."""
