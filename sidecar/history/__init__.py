"""The last 24 hours of an agent, one sample per minute, in a small file."""
