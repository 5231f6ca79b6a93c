"""Runs the agent on a recording."""
