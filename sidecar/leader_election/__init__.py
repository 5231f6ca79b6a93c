"""Leader election through Kafka's group protocol: one of several agents with a common position."""
