"""The local Cassandra node: CQL connection, settings, rights, and the limit of `cdc_raw`."""
