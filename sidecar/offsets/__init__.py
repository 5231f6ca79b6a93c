"""Durable positions: the offset file, or a Kafka topic that is written with the events."""
