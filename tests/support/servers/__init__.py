"""Real servers and tools for the tests, from package registries alone.

Apache Cassandra nodes and clusters, a Kafka broker, Cassandra's own commit-log reader and
Debezium's connector as a peer. Everything downloaded is kept under `.cache/` at the repository root
(or `CDC_CACHE`); every server listens on a loopback address and ends with the process that started
it.

A node to try something on, from the repository root (`.venv/bin/python`):

    from pathlib import Path
    from tests.support.servers.cassandra import CassandraNode
    from tests.support.servers.cassandra_settings import NodeSettings
    from tests.support.servers.kafka import KafkaBroker

    settings = NodeSettings(commitlog_sync_period_ms=100, commitlog_compression="LZ4Compressor")
    with CassandraNode(Path("demo-output/node"), version="4.1.10", settings=settings) as node:
        node.execute("CREATE KEYSPACE …")        # node.session() is a driver session
        node.close_segment()                     # every segment in use is completed
        print(node.cdc_segments(), node.yaml)    # node.yaml is what `cassandra.config` wants

`KafkaBroker(directory)` is used in the same way; both have `stop`, `kill` and `restart`.
`mongo` is no real server but a replica set of the project's own that speaks MongoDB's protocol.
"""
