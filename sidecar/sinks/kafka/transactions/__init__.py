"""The transactional Kafka sink: events and position in one transaction."""
