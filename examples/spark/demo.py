"""`make demo-spark`: three replicas with agents, and Spark jobs that process their events.

A web shop writes to a cluster of three nodes. Meanwhile the demo kills and restarts an agent, and
stops and restarts a node. Every change reaches Kafka about three times. `spark_jobs.dedupe` keeps
one event per change. `spark_jobs.tables` stores the events and keeps typed tables up to date while
the shop writes. The demo shows changes with the rows before and after them. Finally it compares the
version store and the typed tables with `SELECT *`.
"""

import secrets
import shutil
import sys
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random

from pyspark.sql import Row
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from examples.spark.jobs import DemoJobs
from examples.spark.recording import Sample, picture, recorded
from tests.integration.spark.golden.cluster_harness import NODES, ClusterHarness
from tests.integration.spark.golden.events import published, wrong_ids, wrong_records, wrong_rows
from tests.integration.spark.golden.logged_events import read_logs
from tests.integration.spark.golden.selected import Selected, captured_tables, select_tables
from tests.integration.spark.golden.tables import cell_count
from tests.integration.spark.golden.workload import replicated
from tests.oracle.merge.writes import Write
from tests.support.record.folder import user_schema
from tests.support.servers.errors import HarnessError
from tests.support.servers.processes import wait_until
from tests.support.spark.session import fetched_jars, local_session, quiet_java_options
from tests.support.workloads import shop

OUTPUT = Path("demo-output") / "spark"
_SHOWN = "shop.orders"
_COLUMNS = ("ordered", "line", "sku", "quantity", "price", "status")
_KEY = ("ordered", "line")
"""Together with `user_id`, the primary key of the shown table."""
_OPS = {"c": "create", "u": "update", "d": "delete"}
_MAX_ROWS = 6
_MAX_CHANGES = 3
_TO_MINUTES = 16
"""The length of a time without seconds."""
_MAX_PROBLEMS = 5
_STEP = 40
"""Statements before the shop waits for the typed tables."""
_DEADLINE_S = 600
_MICRO_BATCH = 10_000
"""More records than the demo produces, so that one batch fills the tables."""


class DemoError(Exception):
    """The comparison found differences."""


def main() -> int:
    console = Console(highlight=False)
    try:
        demo(console)
    except (DemoError, HarnessError) as error:
        console.print("[bold red]The demo failed:[/]")
        console.print(str(error), markup=False)
        return 1
    return 0


def demo(console: Console) -> None:
    """Run the demo. Raises `DemoError` and `HarnessError`."""
    console.rule("[bold]cdc-sidecar: deduplicated events, typed tables and their changes")
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    folder = OUTPUT.resolve()
    console.print("Starting Spark, Kafka and Cassandra (the first run downloads them) …")
    options = quiet_java_options(folder)
    spark = local_session(fetched_jars(), options, folder / "warehouse")
    try:
        with ClusterHarness(folder, Random(secrets.randbits(32))) as cluster:
            jobs = DemoJobs(spark, folder, cluster.broker.bootstrap, micro_batch=_MICRO_BATCH)
            write(console, cluster, jobs)
            compare(console, cluster, jobs)
    finally:
        spark.stop()
    console.print(f"All servers are stopped. Logs, segments and Delta tables are in {OUTPUT}.")


def write(console: Console, cluster: ClusterHarness, jobs: DemoJobs) -> None:
    """Run the shop, kill an agent, and stop and restart a node."""
    with console.status("Starting two more nodes and three agents …"):
        cluster.create(map(replicated, shop.SCHEMA))
    console.print(
        f"Three nodes with three replicas of each row, three agents: {', '.join(NODES)}.\n"
    )
    writes = [Write(text) for text in shop.statements()]
    third = len(writes) // 3
    with console.status("The shop writes …"):
        cluster.write(writes[:third])
        cluster.kill_agent(1, writes[third : third + 40])
        cluster.nodes[2].stop()
        cluster.write(writes[third + 40 : 2 * third])
        cluster.write_final_hints()
    console.print(
        f"{cluster.counts.written} statements so far. Meanwhile the demo killed the agent of "
        "node2 ([bold]kill -9[/]) and stopped node3."
    )
    print_records(console, cluster)
    jobs.schema.write_text(user_schema(cluster.nodes[0]), encoding="utf-8")
    with console.status("spark_jobs.dedupe reads the topics …"):
        stats = jobs.dedupe()
    console.print(
        f"dedupe: {stats.records} records, [bold]{stats.events} events[/]. It does not wait "
        "for missing replica copies.\n"
    )
    with console.status("node3 and the agent of node2 restart …"):
        cluster.agents[1].start()
        cluster.nodes[2].start()
    write_and_follow(console, cluster, jobs, writes[2 * third :])
    with console.status("The nodes deliver hints, and the agents publish the rest …"):
        cluster.settle()
    console.print(
        f"{cluster.counts.written} statements in all. Hints brought node3 up to date. The agent "
        "of node2 resumed from its committed offset, so it published some events again."
    )
    print_records(console, cluster)


def write_and_follow(
    console: Console, cluster: ClusterHarness, jobs: DemoJobs, writes: Sequence[Write]
) -> None:
    """Run the shop while `spark_jobs.tables` runs, and print changes with both rows."""
    with (
        recorded(jobs.report) as samples,
        jobs.kept_tables(),
        Progress(console=console, transient=True) as progress,
    ):
        task = progress.add_task("spark_jobs.tables fills the typed tables", total=len(writes))
        wait_until(
            lambda: bool(samples) and samples[-1].rows > 0,
            "the first fill of the typed tables",
            deadline_s=_DEADLINE_S,
        )
        before = jobs.position()
        rows = jobs.typed(_SHOWN).count()
        progress.console.print(f"tables: {_SHOWN} has {rows} rows. The shop keeps writing.")
        for begin in range(0, len(writes), _STEP):
            rows = jobs.typed(_SHOWN).count()
            progress.update(task, description=f"The shop writes; {_SHOWN} has {rows} rows")
            changed = samples[-1].rows
            cluster.write(writes[begin : begin + _STEP])
            wait_until(
                partial(_has_changed, samples, changed),
                "a micro-batch of the new writes",
                deadline_s=_DEADLINE_S,
            )
            progress.advance(task, _STEP)
    print_changes(console, jobs.changes(_SHOWN, before).orderBy("ts_us").collect())
    drawn = picture("Typed tables while the shop writes", samples)
    (OUTPUT / "tables.svg").write_text(drawn, encoding="utf-8")
    console.print(f"Changed rows, lag and size of the version store: {OUTPUT}/tables.svg\n")


def _has_changed(samples: Sequence[Sample], rows: int) -> bool:
    return samples[-1].rows > rows


def print_changes(console: Console, changes: Sequence[Row]) -> None:
    """Print some changes of each kind; for updates, only the changed columns."""
    table = Table("", *_KEY, "before", "after", title=f"Changes of {_SHOWN} while the shop wrote")
    for op, name in _OPS.items():
        lines = [_change(each) for each in changes if each["op"] == op]
        for line in [each for each in lines if each[-1] != each[-2]][:_MAX_CHANGES]:
            table.add_row(name, *line)
    console.print(table)


def _change(change: Row) -> tuple[str, ...]:
    """The key, and the values before and after a change."""
    before, after = change["before"], change["after"]
    columns = [
        each
        for each in _COLUMNS
        if each not in _KEY and (change["op"] != "u" or before[each] != after[each])
    ]
    ordered, line = (str((after or before)[each]) for each in _KEY)
    return ordered[:_TO_MINUTES], line, _values(before, columns), _values(after, columns)


def _values(row: Row | None, columns: Sequence[str]) -> str:
    if row is None:
        return "(no row)"
    values = {each: "null" if row[each] is None else row[each] for each in columns}
    return ", ".join(f"{name} {value}" for name, value in values.items())


def compare(console: Console, cluster: ClusterHarness, jobs: DemoJobs) -> None:
    """Run the jobs and compare their results. Raises `DemoError`."""
    with console.status("SELECT * of every table at consistency ALL …"):
        now_s = int(time.time())
        selected = select_tables(cluster.nodes[0], captured_tables(cluster.nodes[0]))
    with console.status("spark_jobs.dedupe resumes …"):
        stats = jobs.dedupe()
    kept = jobs.events()
    console.print(
        f"dedupe: {stats.records} more records, {stats.events} new events, "
        f"{stats.records - stats.events} replica copies dropped; "
        f"[bold]{len(kept)} events[/] in all."
    )
    with console.status("Cassandra's own reader reads all segments of all nodes …"):
        logs = read_logs(cluster, jobs.schema)
        records = [published(record) for record in cluster.records()]
    require_none(
        [
            *wrong_records(records, logs),
            *wrong_ids(records, logs),
            *wrong_rows(kept, records, logs),
        ]
    )
    console.print(
        f"Cassandra's own reader finds {len(logs)} events in the logs of all nodes, "
        f"{len({event.canonical for event in logs.values()})} of them distinct: "
        "[bold green]dedupe kept exactly these, each once[/].\n"
    )
    with console.status("spark_jobs.tables reads all other replica copies …"):
        jobs.tables()
    with console.status("Comparing the tables with SELECT *, cell by cell …"):
        require_none([*jobs.wrong_tables(selected, now_s), *jobs.wrong_typed_tables(selected)])
    print_rows(console, jobs)
    print_tables(console, selected)


def print_records(console: Console, cluster: ClusterHarness) -> None:
    """Print the number of records by node."""
    records = [published(record) for record in cluster.records()]
    said = Counter(record.place.node for record in records)
    copies = Counter(Counter(record.event_id for record in records).values())
    table = Table("in Kafka", *NODES, "records", "events", "events with 1, 2, 3, more copies")
    counts = [copies[1], copies[2], copies[3], sum(n for times, n in copies.items() if times > 3)]
    table.add_row(
        "records",
        *(str(said[node]) for node in NODES),
        str(len(records)),
        str(copies.total()),
        ", ".join(map(str, counts)),
    )
    console.print(table)


def print_rows(console: Console, jobs: DemoJobs) -> None:
    """Print the first rows of a typed table."""
    rows = jobs.typed(_SHOWN).select(*_COLUMNS).orderBy(*_KEY).limit(_MAX_ROWS).collect()
    table = Table(*_COLUMNS, title=f"The typed table {_SHOWN}: the first rows")
    for row in rows:
        table.add_row(*("" if value is None else str(value) for value in row))
    console.print(table)


def print_tables(console: Console, selected: list[Selected]) -> None:
    """Print the compared tables."""
    table = Table(
        "table",
        "rows",
        "cells",
        "store: values, write times, TTLs",
        "typed table: values",
        title="Compared with SELECT *",
    )
    for each in selected:
        if each.name.startswith(f"{shop.KEYSPACE}."):
            cells = str(cell_count(each))
            rows = str(len(each.rows))
            table.add_row(each.name, rows, cells, "[bold green]equal", "[bold green]equal")
    console.print(table)


def require_none(problems: list[str]) -> None:
    """Raise `DemoError` if there are any."""
    if problems:
        raise DemoError("\n".join([f"{len(problems)} differences:", *problems[:_MAX_PROBLEMS]]))


if __name__ == "__main__":
    sys.exit(main())
