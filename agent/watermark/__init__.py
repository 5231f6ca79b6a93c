"""Watermarks: the time up to which Kafka contains every write that this node logged."""
