"""`make demo-spark`: three replicas and their agents, and what Spark makes of all they say.

A web shop writes to a cluster of three nodes while one agent is killed and one node goes for a
while. Every change reaches Kafka about three times; `spark_jobs.dedupe` makes one event of it, and
`spark_jobs.reconcile` the tables, which are held against `SELECT *`.
"""

import secrets
import shutil
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

from rich.console import Console
from rich.table import Table

from tests.integration.spark.golden.events import published, wrong_ids, wrong_records, wrong_rows
from tests.integration.spark.golden.jobs import Jobs
from tests.integration.spark.golden.logs import read_logs
from tests.integration.spark.golden.selected import Selected, captured_tables, select_tables
from tests.integration.spark.golden.stage import NODES, Stage
from tests.integration.spark.golden.tables import cell_count
from tests.integration.spark.golden.workload import replicated
from tests.oracle.merge.writes import Write
from tests.support.record.folder import user_schema
from tests.support.servers.errors import HarnessError
from tests.support.spark.session import fetched_jars, local_session, quiet_java_options
from tests.support.workloads import shop

OUTPUT = Path("demo-output") / "spark"
_SHOWN = "shop.orders"
_COLUMNS = ("ordered", "line", "sku", "quantity", "price", "status")
_MAX_ROWS = 6
_MAX_PROBLEMS = 5


class DemoError(Exception):
    """What was compared is not equal."""


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
    """Raises `DemoError` and `HarnessError`."""
    console.rule("[bold]cdc-sidecar: one copy of each event, and the tables themselves")
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    folder = OUTPUT.resolve()
    console.print("Spark, Kafka and Cassandra start (the first time they are fetched) …")
    options = quiet_java_options(folder)
    spark = local_session(fetched_jars(), options, folder / "warehouse")
    try:
        with Stage(folder, Random(secrets.randbits(32))) as stage:
            jobs = Jobs(spark, folder, stage.broker.bootstrap)
            write(console, stage, jobs)
            compare(console, stage, jobs)
    finally:
        spark.stop()
    console.print(f"Everything is stopped; logs, segments and Delta tables lie in {OUTPUT}.")


def write(console: Console, stage: Stage, jobs: Jobs) -> None:
    """The shop at work, and what happens to it."""
    with console.status("Two more nodes and an agent beside each …"):
        stage.make(map(replicated, shop.SCHEMA))
    console.print(
        f"Three nodes with three replicas of each row, three agents: {', '.join(NODES)}.\n"
    )
    writes = [Write(text) for text in shop.statements()]
    third = len(writes) // 3
    with console.status("The shop opens …"):
        stage.write(writes[:third])
        stage.kill_agent(1, writes[third : third + 40])
        stage.nodes[2].stop()
        stage.write(writes[third + 40 : 2 * third])
        stage.write_last_hints()
    console.print(
        f"{stage.counts.written} statements so far. On the way the agent of node2 got a "
        "[bold]kill -9[/] and node3 was stopped; the shop went on."
    )
    print_records(console, stage)
    jobs.schema.write_text(user_schema(stage.nodes[0]), encoding="utf-8")
    with console.status("spark_jobs.dedupe reads what there is …"):
        stats = jobs.dedupe()
    console.print(
        f"dedupe: {stats.records} records, [bold]{stats.events} events[/]. Nothing waits for "
        "copies that have not come.\n"
    )
    with console.status("node3 and the agent of node2 come back, hints are handed over …"):
        stage.agents[1].start()
        stage.nodes[2].start()
        stage.write(writes[2 * third :])
        stage.settle()
    console.print(
        f"{stage.counts.written} statements in all. node3 has got what it had missed, the agent of "
        "node2 went on where its progress was saved, and so sent some events again."
    )
    print_records(console, stage)


def compare(console: Console, stage: Stage, jobs: Jobs) -> None:
    """Both jobs, and what they have to equal. Raises `DemoError`."""
    with console.status("SELECT * of every table at consistency ALL …"):
        now_s = int(time.time())
        selected = select_tables(stage.nodes[0], captured_tables(stage.nodes[0]))
    with console.status("spark_jobs.dedupe goes on …"):
        stats = jobs.dedupe()
    kept = jobs.events()
    console.print(
        f"dedupe: {stats.records} more records, {stats.events} new events, "
        f"{stats.records - stats.events} copies dropped; [bold]{len(kept)} events[/] in all."
    )
    with console.status("Cassandra's own reader reads all segments of all nodes …"):
        logs = read_logs(stage, jobs.schema)
        records = [published(record) for record in stage.records()]
    require_none(
        [
            *wrong_records(records, logs),
            *wrong_ids(records, logs),
            *wrong_rows(kept, records, logs),
        ]
    )
    console.print(
        f"Cassandra's own reader finds {len(logs)} in the logs of the three nodes, "
        f"{len({event.canonical for event in logs.values()})} different ones: "
        "[bold green]exactly those, each once[/].\n"
    )
    with console.status("spark_jobs.reconcile reads all copies …"):
        jobs.reconcile()
    with console.status("The tables are held against SELECT *, cell by cell …"):
        require_none(jobs.wrong_tables(selected, now_s))
    print_rows(console, jobs, now_s)
    print_tables(console, selected)


def print_records(console: Console, stage: Stage) -> None:
    """What the topics hold, by the node that said it."""
    records = [published(record) for record in stage.records()]
    said = Counter(record.place.node for record in records)
    copies = Counter(Counter(record.event_id for record in records).values())
    table = Table("in Kafka", *NODES, "records", "events", "of these with 1, 2, 3, more copies")
    counts = [copies[1], copies[2], copies[3], sum(n for times, n in copies.items() if times > 3)]
    table.add_row(
        "records",
        *(str(said[node]) for node in NODES),
        str(len(records)),
        str(copies.total()),
        ", ".join(map(str, counts)),
    )
    console.print(table)


def print_rows(console: Console, jobs: Jobs, now_s: int) -> None:
    """The first rows of a table as the view has them."""
    rows = jobs.view(_SHOWN, now_s).select(*_COLUMNS).limit(_MAX_ROWS).collect()
    table = Table(*_COLUMNS, title=f"{_SHOWN}, rebuilt from events: the first rows")
    for row in rows:
        table.add_row(*("" if value is None else str(value) for value in row))
    console.print(table)


def print_tables(console: Console, selected: list[Selected]) -> None:
    """Each table with what was compared."""
    table = Table("table", "rows", "cells", "values, write times, TTLs", title="Against SELECT *")
    for each in selected:
        if each.name.startswith(f"{shop.KEYSPACE}."):
            cells = str(cell_count(each))
            table.add_row(each.name, str(len(each.rows)), cells, "[bold green]equal")
    console.print(table)


def require_none(problems: list[str]) -> None:
    """Raises `DemoError`."""
    if problems:
        raise DemoError("\n".join([f"{len(problems)} differences:", *problems[:_MAX_PROBLEMS]]))


if __name__ == "__main__":
    sys.exit(main())
