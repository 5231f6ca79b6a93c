"""Watermarks: up to which time Kafka has every write that this node logged."""
