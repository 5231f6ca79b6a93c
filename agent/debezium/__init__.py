"""State of Debezium's connector for Cassandra, imported."""
