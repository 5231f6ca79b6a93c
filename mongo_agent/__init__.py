"""The MongoDB agent: change streams to Kafka."""
