"""Messages as Kafka Connect's own converters read and write them."""
