"""Messages as read and written by Kafka Connect's converters."""
