"""Publishes the changes of a version store, and fills the store if a source is configured."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial

from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from sidecar.errors import ConfigError
from sidecar.logs import fields
from spark_jobs.changes.changes_tables import ChangesTable, IcebergChangesTable
from spark_jobs.changes.converters import avro_schema, encoding_of
from spark_jobs.changes.envelope import PublishedTable, value_schema
from spark_jobs.changes.handler import BatchJournal, ChangesHandler, ChangeSink, PublishedStream
from spark_jobs.changes.kafka_sink import KafkaSink, KafkaTopic
from spark_jobs.changes.options import ChangesJobOptions
from spark_jobs.column_names import require_names
from spark_jobs.follow.job import run_follower
from spark_jobs.options.command_line import JobReport
from spark_jobs.progress import Show, no_line, start_job
from spark_jobs.reconcile.selected_tables import read_tables
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.reconcile.visible_rows import merger_of
from spark_jobs.session import require_iceberg
from spark_jobs.storage import CheckpointOwner, Folder, acquire_checkpoint

logger = logging.getLogger(__name__)
_LEFT_OUT = "Leave the table out of `tables`."


def main(options: ChangesJobOptions) -> JobReport:
    # Before Spark starts, so that an invalid schema fails at once.
    _, selected = read_tables(options)
    require_own_targets(options, selected.tables)
    with start_job(options.job, options) as job:
        batches = run(job.session, options, stop=job.stop, show=job.show)
        return JobReport(f"{batches} batches of changes published", {"batches": batches})


def run(
    session: SparkSession,
    options: ChangesJobOptions,
    *,
    stop: threading.Event,
    show: Show = no_line,
    clock: Callable[[], float] = time.time,
) -> int:
    """Run until the trigger ends or `stop` is set. Returns the number of published batches.

    `clock` determines which values have expired. Raises `ConfigError`, `CheckpointError` or
    `InputError`.
    """

    def open_targets(
        store: VersionStore, schema: SourceSchema, tables: Sequence[SourceTable]
    ) -> ChangesHandler:
        stored_topics = store.recent_offsets(store.version()).keys()
        require_own_targets(options, tables, stored_topics)
        owner = CheckpointOwner(options.job, "", options.fixed(), store.id)
        app = acquire_checkpoint(store.session, options.folder, owner).id
        logger.info("changes started", extra=fields(output=options.output))
        return ChangesHandler(
            partial(_open_stream, store.session, options, schema, app),
            has_snapshot=options.snapshot_mode == "initial",
        )

    return run_follower(session, options, open_targets, stop=stop, show=show, clock=clock)


def _open_stream(
    session: SparkSession,
    options: ChangesJobOptions,
    schema: SourceSchema,
    app: str,
    table: SourceTable,
) -> PublishedStream:
    topic = options.topic_of(table.keyspace, table.name)
    published = PublishedTable(table, options.prefix, topic)
    row = from_arrow_schema(merger_of(schema, table).changes_schema)["after"].dataType
    assert isinstance(row, StructType)
    if options.table_sink is not None:
        require_names(table.full_name, row, options.table_sink, _LEFT_OUT, is_nested=True)
    if "kafka" in options.sinks and options.converter == "avro":
        # Raises `ColumnNameError` if names collide.
        avro_schema(value_schema(row, published))
    journal = BatchJournal(Folder(session, f"{options.folder}/{table.id}"))
    return PublishedStream(journal, tuple(_sinks(session, options, published, app)))


def _sinks(
    session: SparkSession, options: ChangesJobOptions, table: PublishedTable, app: str
) -> Iterator[ChangeSink]:
    """The sinks of a table. A table sink comes first, because it skips a repeated batch."""
    if options.table_sink is not None:
        name = options.changes_table_of(table.source.keyspace, table.source.name)
        if options.table_sink == "delta":
            yield ChangesTable(name, table, app)
        else:
            require_iceberg(session)
            yield IcebergChangesTable(session, name.split("."), table, app)
    if "kafka" in options.sinks:
        topic = KafkaTopic(session, table.topic, options.producer_settings())
        encoding = encoding_of(table, options)
        yield KafkaSink(topic, table, encoding, has_tombstones=options.has_tombstones)


def require_own_targets(
    options: ChangesJobOptions,
    tables: Iterable[SourceTable],
    stored_topics: Collection[str] = (),
) -> None:
    """Raise `ConfigError` if two tables share a target, or if a target is a topic of the agents.

    By default, the agents and this job use the same topic names. Changes among the agents' events
    would make the topic invalid for every job that reads it. `stored_topics` are the topics whose
    events the version store contains.
    """
    owners: dict[str, str] = {}
    for name, target, table in _targets(options, tables):
        if target in owners:
            raise ConfigError(
                f"`{name}` gives {owners[target]} and {table} the same target `{target}`, but keys "
                "are unique only within a table. Use `{keyspace}` and `{table}` in it."
            )
        owners[target] = table
        if name != "topic.template" or "bootstrap.servers" in options.sink_kafka:
            continue
        if options.reads(target) or target in stored_topics:
            raise ConfigError(
                f"The changes of {table} would go to `{target}`, a topic of the agents. Set a "
                "different `topic.prefix` or `topic.template`. If the changes go to another Kafka "
                "cluster, set `sink.kafka.bootstrap.servers` to its brokers."
            )


def _targets(
    options: ChangesJobOptions, tables: Iterable[SourceTable]
) -> Iterable[tuple[str, str, str]]:
    """Yield the option, the target and the table for each target."""
    for table in tables:
        place = table.keyspace, table.name
        if "kafka" in options.sinks:
            yield "topic.template", options.topic_of(*place), table.full_name
        if options.table_sink is not None:
            yield "changes.table", options.changes_table_of(*place), table.full_name
