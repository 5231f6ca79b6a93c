"""Apache Kafka as a sink, through librdkafka.

`names` and `client_properties` turn `kafka.producer.*` into the client's configuration, `topics`
knows how many partitions a topic has, `producer` is the sink.
"""
