"""Signals to a running agent, through any channel."""
