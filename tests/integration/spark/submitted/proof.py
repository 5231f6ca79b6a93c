"""Checks of the output of jobs on a cluster."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import orjson
from pyspark.sql import SparkSession

import spark_jobs
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.reconcile.visible_rows import table_at
from spark_jobs.tables.options import TargetOptions
from spark_jobs.tables.target import open_table, read_progress, read_table
from tests.oracle.algebra import Tables
from tests.oracle.reference.recordings import OWN
from tests.support.servers.kafka import KafkaBroker
from tests.support.spark.forms import expected, shown
from tests.support.spark.options import options_of
from tests.support.spark.recorded import identity, three_copies
from tests.support.spark.records import send

RECORDING = "5.0/three-nodes"
SCHEMA = OWN / RECORDING / "node1" / "schema.cql"
BUCKETS = 2
LATER_S = 4_000_000_000
RUNS = 4
_JOBS = Path(spark_jobs.__file__).parent

Submit = Callable[[list[str], Path, Path], None]
"""Options of spark-submit, the main file, and the job's options file."""


def prove(
    submit: Submit, spark: SparkSession, broker: KafkaBroker, folder: Path, schema_file: str
) -> None:
    """Submit dedupe, reconcile, the typed view and typed tables, and compare them with runs
    without a cluster.

    `schema_file` is the path for the driver.
    """
    records = [replace(record, topic="submitted") for record in three_copies([RECORDING])]
    send(broker, records, partitions=2)
    topics = {
        "kafka.bootstrap.servers": broker.bootstrap,
        "topics": "submitted",
        "state.partitions": 2,
    }
    stored = {"output": folder / "versions", "buckets": BUCKETS, "schema.file": schema_file}

    def run(main: str, settings: Mapping[str, object]) -> None:
        config = folder / f"{main.replace('/', '-')}.properties"
        config.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        submit(_options(), _JOBS / main, config)

    own: dict[str, object] = {"checkpoint": folder / "dedupe", "sink.delta.path": folder / "events"}
    run("dedupe/__main__.py", topics | own)
    once = spark.read.format("delta").load(str(folder / "events")).collect()
    assert Counter(bytes(row.id) for row in once) == Counter({identity(r)[0] for r in records})

    run("reconcile/__main__.py", topics | stored | {"checkpoint": folder / "reconcile"})
    tables = Tables()
    for record in records:
        tables.apply(orjson.loads(record.value or b""))
    store = VersionStore(spark, str(folder / "versions"), buckets=BUCKETS)
    schema = read_schema(SCHEMA)
    assert shown(store, schema, LATER_S) == expected(tables, LATER_S)

    # Executors merge its events with the extension.
    shows = {each.full_name: table_at(store, schema, each, LATER_S) for each in schema.tables}
    name = max(shows, key=lambda each: (shows[each].count() > 0, len(shows[each].columns)))
    view = {"table": name, "view.output": folder / "view", "at.s": LATER_S}
    run("reconcile/view.py", stored | view)
    rows = spark.read.format("delta").load(str(folder / "view")).collect()
    assert rows
    assert Counter(map(repr, rows)) == Counter(map(repr, shows[name].collect()))

    target = {"target": folder / "tables", "tables": name, "checkpoint": folder / "tables-job"}
    run("tables/__main__.py", stored | target)
    options = options_of(TargetOptions, {"target": str(folder / "tables")})
    complete = read_progress(open_table(spark, options, name)).complete
    assert complete is not None
    visible = table_at(store, schema, schema.table(name), complete.second)
    typed = read_table(spark, options, name).select(*visible.columns)
    assert Counter(map(repr, typed.collect())) == Counter(map(repr, visible.collect()))


def _options() -> list[str]:
    settings = {
        "spark.driver.memory": "1g",
        "spark.executor.memory": "600m",
        "spark.executor.cores": "1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "2",
    }
    return [part for each in settings.items() for part in ("--conf", "{}={}".format(*each))]
