"""The agent between a real node and a real broker."""
