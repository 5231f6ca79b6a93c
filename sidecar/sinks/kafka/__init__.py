"""Apache Kafka as a sink, through librdkafka.

`sink` delivers at least once, `transactions` exactly once. `config` converts `kafka.producer.*` to
the client's configuration; `topics` looks up, creates and reads topics.
"""
