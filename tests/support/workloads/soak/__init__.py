"""Workloads of any schema and any statement: what the parser is compared with Cassandra over.

A workload is one keyspace with its user types, tables and views, and the statements in order:
writes of every kind with changes of the schema between them. It is a pure function of its seed, the
release and whether that release keeps expiries behind 2038. Not every statement is accepted by the
node (a list index out of bounds, an expiry that is too late): what is compared is what the log
holds.
"""

from tests.support.workloads.soak.workload import Step, Workload, workload

__all__ = ["Step", "Workload", "workload"]
