"""The merge of events in plain Python: precedence, deletions, visible rows, counters, purging.

Merging is a maximum in a total order, so order, batches and replica copies of the events do not
matter. Tests compare `spark_jobs.merge` with this package, and this package with a port of
Cassandra's own code (`tests.oracle.merge`).
"""

from tests.oracle.algebra.counter import Shard, read_shards
from tests.oracle.algebra.table import Row, RowKey, Table, Value
from tests.oracle.algebra.tables import Tables

__all__ = ["Row", "RowKey", "Shard", "Table", "Tables", "Value", "read_shards"]
