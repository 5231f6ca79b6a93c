"""Real servers and tools for the tests, from package registries alone.

Apache Cassandra nodes and clusters, a Kafka broker, Cassandra's own commit-log reader and
Debezium's connector as a peer. Everything downloaded is kept under `.cache/` at the repository root
(or `CDC_CACHE`); every server listens on a loopback address and ends with the process that started
it.
"""
