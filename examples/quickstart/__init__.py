"""The agent over a recording."""
