"""Watermarks: up to which time Kafka contains every write that this node logged."""
