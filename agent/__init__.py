"""The Cassandra agent: reads the segments that a node links into `cdc_raw` and publishes them."""
