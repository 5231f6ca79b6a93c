"""The algebra: which cell wins, what a deletion covers, which row is there, what counters say.

Plain functions over frozen values, without Spark. Everything that merges is a maximum in a total
order, so any order, any batches and any number of copies of the events give one table. What runs
on Spark (`spark_jobs.expressions`) is held to this by tests, and this to a port of Cassandra's
own questions.
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
