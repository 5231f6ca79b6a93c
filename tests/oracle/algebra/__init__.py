"""The merge of events in plain Python: precedence, deletions, visible rows, counters, purging.

Merging is a maximum in a total order, so order, batches and replica copies of the events do not
matter. Tests compare `commitlog.merge` with this package, and this package with a port of
Cassandra's own code (`tests.oracle.merge`).
"""

from tests.oracle.algebra.cell import NEVER_S, Cell, Deletion, Liveness, State
from tests.oracle.algebra.counter import Shard, read_shards
from tests.oracle.algebra.purging import is_purgeable
from tests.oracle.algebra.table import Elements, Row, RowKey, Table, Value
from tests.oracle.algebra.tables import Tables

__all__ = [
    "NEVER_S",
    "Cell",
    "Deletion",
    "Elements",
    "Liveness",
    "Row",
    "RowKey",
    "Shard",
    "State",
    "Table",
    "Tables",
    "Value",
    "is_purgeable",
    "read_shards",
]
