"""The agent beside a MongoDB replica set: change streams to Kafka."""
