"""The agent for MongoDB."""
