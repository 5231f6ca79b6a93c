"""The golden test: three replicas, three agents, and Spark between their events and `SELECT *`."""
