"""The table out of the events of all replicas."""
