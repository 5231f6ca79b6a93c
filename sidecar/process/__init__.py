"""The life of the process: signals, deadlines, exit codes, privacy."""
