"""Which of several agents with one position delivers: elected by Kafka's group protocol."""
