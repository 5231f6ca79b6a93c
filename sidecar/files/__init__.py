"""Files and directories: safe opening, fsync, locks, permissions."""
