"""Settings of the Kafka client, by the names of the Java producer."""
