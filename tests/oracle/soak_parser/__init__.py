"""The parser against Cassandra's own `CommitLogReader` with random workloads on real nodes."""
