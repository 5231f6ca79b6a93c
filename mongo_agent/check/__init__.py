"""Checks of `mongo-agent check`: MongoDB, directories, broker, offsets. They change nothing."""
