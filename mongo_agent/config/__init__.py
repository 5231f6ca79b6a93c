"""The MongoDB agent's configuration."""
