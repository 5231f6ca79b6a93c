"""The MongoDB deployment: discovery, errors, sessions, elections and the oplog."""
