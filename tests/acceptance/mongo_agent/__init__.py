"""The command `mongo-agent`, as operators use it."""
