"""The agent's configuration: properties, and the node's `cassandra.yaml`."""
