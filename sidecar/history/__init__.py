"""The last 24 hours of an agent, one sample a minute, in a small file."""
