"""The command `mongo-agent`, as people use it."""
