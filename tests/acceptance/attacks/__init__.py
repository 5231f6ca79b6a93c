"""Attacks on running agents: `make attacks`."""
