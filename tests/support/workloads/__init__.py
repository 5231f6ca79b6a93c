"""CQL workloads for real nodes: what recordings, the kill test and the peer write.

Everything is a pure function of a seed and gives CQL texts; nothing here talks to a server.
`shop` is the quickstart's little web shop, `catalogue` lists the workloads that are recorded, and
`random_tables` with `random_statements` make tables and writes of every kind at random.
"""

from tests.support.workloads.catalogue import SCENARIOS, scenario
from tests.support.workloads.random_statements import random_statements
from tests.support.workloads.random_tables import Table, random_tables, schema_statements
from tests.support.workloads.scenario import Scenario

__all__ = [
    "SCENARIOS",
    "Scenario",
    "Table",
    "random_statements",
    "random_tables",
    "scenario",
    "schema_statements",
]
