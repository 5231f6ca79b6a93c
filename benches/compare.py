"""Rows per CPU second that `spark_jobs.compare` reads, compared with a plain reader.

Three candidates alternate on the same table and token ranges, at consistency ALL: the driver with
decoded rows (a plain `SELECT`), the job's reader in this process, and the reader with range digests
in Spark. CPU seconds exclude the node.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from cassandra import ConsistencyLevel
from cassandra.query import SimpleStatement

from benches.backlog import TABLE
from benches.harness import Result, Spread, print_table, progress_bar, scratch_directory
from benches.snapshot import fill
from benches.spark.session import SparkUnderTest
from commitlog import EventFormat, Schema, SnapshotEncoder
from spark_jobs.compare.cassandra_pages import Contact
from spark_jobs.compare.digests import compared_columns, range_digests, token_ranges
from spark_jobs.compare.live_rows import LiveReader, read_live
from spark_jobs.rebuild.table_layout import read_layout
from spark_jobs.reconcile.source_table import SourceSchema, read_schema
from spark_jobs.reconcile.visible_rows import merger_of
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings

ROWS, QUICK_ROWS = 100_000, 5_000
ROUNDS = 3
RANGES, TASKS, PAGE_ROWS = 64, 2, 1000
SELECT, READER, JOB = "plain SELECT", "reader", "reader and digests in Spark"


@dataclass(frozen=True)
class CompareResult:
    candidate: str
    rows_per_cpu_s: Spread
    of_plain: Spread
    """As a multiple of the plain `SELECT`'s rate, round by round."""


def run(is_quick: bool) -> Result:
    rows, rounds = (QUICK_ROWS, 1) if is_quick else (ROWS, ROUNDS)
    settings = NodeSettings(commitlog_sync_period_ms=500, heap_mib=1024, compile_fully=True)
    with (
        scratch_directory("compare") as scratch,
        CassandraNode(scratch / "node", settings=settings) as node,
        SparkUnderTest.started() as spark,
    ):
        with progress_bar("writing rows"):
            fill(node, rows)
        path = scratch / "schema.cql"
        path.write_text(node.describe_schema())
        schema = read_schema(path)
        reader = _reader(node, schema)
        columns = compared_columns(read_layout(schema.schema, reader.table_id))
        ranges = token_ranges(RANGES)

        def digests() -> int:
            live = read_live(spark.session, reader, ranges, TASKS)
            return sum(each.rows for each in range_digests(live, RANGES, columns).values())

        works: dict[str, Callable[[], int]] = {
            SELECT: lambda: _select(node, reader),
            READER: lambda: _read(reader),
        }
        # A session's first query needs more CPU time in the JVM.
        assert digests() == rows
        rates: dict[str, list[float]] = {name: [] for name in (*works, JOB)}
        with progress_bar("comparing", rounds) as step:
            for _ in range(rounds):
                for name, work in works.items():
                    rates[name].append(rows / _cpu_s(work, rows))
                rates[JOB].append(rows / spark.cost_of(digests).cpu_s)
                step()
    results = [
        CompareResult(name, Spread.of(found), Spread.of_ratios(found, rates[SELECT]))
        for name, found in rates.items()
    ]
    _print(rows, rounds, results)
    return {"rows": rows, "results": results}


def _reader(node: CassandraNode, schema: SourceSchema) -> LiveReader:
    table = schema.table(TABLE)
    return LiveReader(
        contact=Contact((node.address.host,), node.address.cql_port),
        merger=merger_of(schema, table),
        stored_schema=schema.schema.to_stored(),
        table_id=table.id,
        table=table.full_name,
        consistency="ALL",
        page_rows=PAGE_ROWS,
        rows_per_second=None,
        now_s=0,
    )


def _select(node: CassandraNode, reader: LiveReader) -> int:
    """Read the same columns with decoded values."""
    encoder = SnapshotEncoder(
        Schema.from_stored(reader.stored_schema),
        reader.table_id,
        EventFormat(topic_prefix="b", cluster="b", node_id="b", all_tables=True),
        element_times=True,
        started_us=0,
    )
    session = node.session()
    rows = 0
    for each in token_ranges(RANGES):
        statement = SimpleStatement(
            encoder.cql(each.after, each.to),
            fetch_size=PAGE_ROWS,
            consistency_level=ConsistencyLevel.ALL,
        )
        rows += sum(1 for _ in session.execute(statement))
    return rows


def _read(reader: LiveReader) -> int:
    ranges = token_ranges(RANGES)
    batch = pa.record_batch(
        {"after": [each.after for each in ranges], "to": [each.to for each in ranges]}
    )
    return sum(len(rows) for rows in reader.read_all([batch]))


def _cpu_s(work: Callable[[], int], rows: int) -> float:
    start_s = time.process_time()
    assert work() == rows
    return time.process_time() - start_s


def _print(rows: int, rounds: int, results: Sequence[CompareResult]) -> None:
    print_table(
        f"comparison of {rows:,} rows, {rounds} interleaved rounds",
        results,
        {
            "candidate": lambda each: each.candidate,
            "rows/CPU s": lambda each: each.rows_per_cpu_s.text(),
            "of the plain SELECT": lambda each: each.of_plain.text(2),
        },
    )
