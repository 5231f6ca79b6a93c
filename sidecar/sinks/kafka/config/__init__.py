"""Settings of the Kafka client, under the names of the Java producer."""
