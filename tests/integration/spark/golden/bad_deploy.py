"""A bad deploy on the cluster, which `spark_jobs.rebuild` undoes.

Good writes go to `LIVE` and `EXPECTED`, bad ones only to `LIVE`. So `EXPECTED` contains the rows
that the repaired table must have.
"""

import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from random import Random

from cassandra import ConsistencyLevel
from cassandra.query import SimpleStatement
from pyspark.sql import SparkSession

from spark_jobs.rebuild.job import run
from spark_jobs.rebuild.options import RebuildOptions
from spark_jobs.reconcile.source_table import read_schema
from tests.integration.spark.golden.cluster_harness import NODES, ClusterHarness
from tests.integration.spark.golden.selected import Selected, select_tables
from tests.integration.spark.golden.tables import wrong_values
from tests.integration.spark.golden.workload import LIVE
from tests.support.node.deploys import Write, writes
from tests.support.spark.options import options_of

EXPECTED = "shop.expected"
_GOOD, _BAD, _LATER = 250, 100, 60
_LATER_US = 1_000_000
_MARGIN_US = 9
"""The deletion of a replaced collection is a microsecond earlier than its write."""


class BadDeploy:
    """Writes to `LIVE`, and their undoing. `problems` contains one line per difference."""

    def __init__(self, cluster: ClusterHarness, spark: SparkSession, random: Random) -> None:
        self._cluster = cluster
        self._spark = spark
        self._random = random
        self._target = cluster.directory / "rebuilt"
        self._good_until_us = 0
        self._window_us = 0, 0
        self._snapshot: Selected | None = None
        self.statements = 0
        """Number of statements that undid the deploy."""
        self.problems: list[str] = []

    def write_before(self) -> None:
        """Write good values to both tables, and select `LIVE` as a snapshot."""
        good = list(writes(self._random, _GOOD, time.time_ns() // 1000))
        self._write((LIVE, EXPECTED), good)
        self._good_until_us = good[-1].ts_us + _MARGIN_US
        (self._snapshot,) = select_tables(self._cluster.nodes[0], [LIVE])

    def write(self) -> None:
        """Deploy: bad writes to `LIVE`, and between them good writes to both tables, with later
        write times."""
        bad = list(writes(self._random, _BAD, time.time_ns() // 1000))
        self._window_us = bad[0].ts_us - _MARGIN_US, bad[-1].ts_us + _MARGIN_US
        later = list(writes(self._random, _LATER, bad[-1].ts_us + _LATER_US))
        for one, other in zip_longest(bad, later):
            self._write((LIVE,), [one])
            if other is not None:
                self._write((LIVE, EXPECTED), [other])

    def undo(self, store: Mapping[str, str]) -> None:
        """Rebuild from the version store, load the statements at QUORUM, and compare."""
        self._compare_snapshot(store, "the store")
        live, expected = select_tables(self._cluster.nodes[0], [LIVE, EXPECTED])
        if _shown(live) == _shown(expected):
            self.problems.append("the deploy did not change anything")
        self._rebuild(store, self._window(), **{"format": "cql", "cql.mode": "undo"})
        statements = [
            line
            for file in sorted(self._target.glob("part-*"))
            for line in file.read_text(encoding="utf-8").splitlines()
        ]
        self._execute(statements)
        self.statements = len(statements)
        live, expected = select_tables(self._cluster.nodes[0], [LIVE, EXPECTED])
        ours, theirs = _shown(live), _shown(expected)
        self.problems += [f"{row} is not undone" for row in ours - theirs]
        self.problems += [f"{row} is missing after the undo" for row in theirs - ours]

    def compare_segments(self, schema_file: str) -> None:
        """Rebuild from the archives of all stopped agents, and compare."""
        archive = self._cluster.directory / "archive"
        for name, agent in zip(NODES, self._cluster.agents, strict=True):
            shutil.copytree(agent.archive, archive / name)
        sources = {"segments": str(archive), "schema.file": schema_file}
        self._compare_snapshot(sources, "the segments")
        (expected,) = select_tables(self._cluster.nodes[0], [EXPECTED])
        self._rebuild(sources, self._window())
        self._compare(expected, "the segments without the window")

    def _compare_snapshot(self, sources: Mapping[str, str], place: str) -> None:
        assert self._snapshot is not None
        self._rebuild(sources, {"at": str(self._good_until_us)})
        self._compare(self._snapshot, f"{place} as of the snapshot")

    def _compare(self, selected: Selected, place: str) -> None:
        rows = self._spark.read.parquet(str(self._target))
        self.problems += [f"{place}: {line}" for line in wrong_values(selected, rows)]

    def _window(self) -> dict[str, str]:
        first, last = self._window_us
        return {"without.from": str(first), "without.to": str(last)}

    def _rebuild(
        self, sources: Mapping[str, str], window: Mapping[str, str], **settings: str
    ) -> None:
        given = {**sources, **window, **settings, "table": LIVE, "target": str(self._target)}
        given.pop("counter.tables", None)
        options = options_of(RebuildOptions, given)
        run(self._spark, options, read_schema(options.schema_file))

    def _write(self, tables: Iterable[str], statements: Iterable[Write]) -> None:
        self._execute(each.to(table) for each in statements for table in tables)

    def _execute(self, statements: Iterable[str]) -> None:
        """Execute at QUORUM, one after the other. The ids of list elements are times of the node,
        so one node gives them the order of the statements in both tables."""
        session = self._cluster.nodes[0].session()
        for statement in statements:
            query = SimpleStatement(statement, consistency_level=ConsistencyLevel.QUORUM)
            session.execute(query)


def _shown(selected: Selected) -> set[str]:
    """Rows, and which of their values expire."""
    return set(_lines(selected))


def _lines(selected: Selected) -> Iterator[str]:
    for row in selected.rows:
        expires = {name: _expires(left) for name, left in row.ttl_s.items()}
        yield f"{dict(row.values)}, expiring: {expires}"


def _expires(left: object) -> object:
    return [each is not None for each in left] if isinstance(left, list) else left is not None
