"""Rows of a live table, read in pages from a node."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.compare.cassandra_pages import Contact
from spark_jobs.compare.digests import token_ranges
from spark_jobs.compare.live_rows import LiveReader, read_live
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.visible_rows import merger_of
from tests.support.servers.cassandra import CassandraNode

PARTITIONS, ROWS = 6, 3


@pytest.mark.servers
def test_live_table_is_read_in_pages(
    spark: SparkSession, shared_node: CassandraNode, keyspace: str, tmp_path: Path
) -> None:
    name = f"{keyspace}.live"
    shared_node.execute(
        f"CREATE TABLE {name} (p int, c int, st text static, v text, l list<int>,"
        " PRIMARY KEY (p, c)) WITH cdc = true"
    )
    for p in range(PARTITIONS):
        for c in range(ROWS):
            shared_node.execute(
                f"INSERT INTO {name} (p, c, v, l) VALUES ({p}, {c}, 'v{p}{c}', [{p}, {c}])"
                f" USING TIMESTAMP {p + 1}"
            )
        shared_node.execute(f"UPDATE {name} SET st = 'of {p}' WHERE p = {p}")
    shared_node.execute(f"DELETE FROM {name} WHERE p = 1")
    shared_node.execute(f"INSERT INTO {name} (p, c, v) VALUES (0, 9, 'v') USING TTL 1000")
    path = tmp_path / "schema.cql"
    path.write_text(shared_node.describe_schema())
    schema = read_schema(path)
    table = schema.table(name)
    reader = LiveReader(
        Contact((shared_node.address.host,), shared_node.address.cql_port),
        merger_of(schema, table),
        schema.schema.to_stored(),
        table.id,
        name,
        "ONE",
        page_rows=2,
        rows_per_second=None,
        # Later than the expiry of the row with the TTL.
        now_s=1 << 40,
    )
    rows = read_live(spark, reader, token_ranges(4), tasks=2).collect()
    found = {}
    for row in rows:
        p, c = (int.from_bytes(row[each][-4:], "big") for each in ("pk", "ck"))
        values = [bytes(cell["value"]) for cell in row["cells"]]
        times = {cell["ts"] for cell in row["cells"] if cell["column"] == "v"}
        (static,) = row["statics"]
        found[p, c ^ (1 << 31)] = (values, times, bytes(static["value"]))
    assert len(found) == len(rows)
    assert found == {
        (p, c): (
            [p.to_bytes(4, "big"), c.to_bytes(4, "big"), f"v{p}{c}".encode()],
            {p + 1},
            f"of {p}".encode(),
        )
        for p in range(PARTITIONS)
        for c in range(ROWS)
        if p != 1
    }
