"""The life of the process: signals, worker threads, waiting, exit codes, privacy."""
