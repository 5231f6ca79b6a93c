"""Decisions of `mongo-agent check` and `plan`, without a server."""
