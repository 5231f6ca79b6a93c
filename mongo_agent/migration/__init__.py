"""Import of the offsets of Debezium's MongoDB connector."""
