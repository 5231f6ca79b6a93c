"""Signals to a running agent, by any channel."""
