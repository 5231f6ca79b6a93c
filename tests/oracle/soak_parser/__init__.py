"""The parser against Cassandra's own `CommitLogReader` over random workloads on real nodes."""
