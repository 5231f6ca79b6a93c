"""Topics: metadata, creation, access rights, reading and tailing."""
