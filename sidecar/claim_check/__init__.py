"""Oversized events: a reference in the topic, the large members of the value in a store."""
