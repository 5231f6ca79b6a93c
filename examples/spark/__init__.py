"""Three replicas, three agents, and Spark."""
