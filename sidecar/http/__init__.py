"""The HTTP server of an agent, and what protects it."""
