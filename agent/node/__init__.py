"""The local Cassandra node: CQL connection, settings, permissions, and the limit of `cdc_raw`."""
