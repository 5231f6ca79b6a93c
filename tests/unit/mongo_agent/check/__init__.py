"""What `mongo-agent check` and `plan` decide, without a server."""
