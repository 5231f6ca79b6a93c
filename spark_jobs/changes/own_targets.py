"""Targets that no two tables share, and that are no topics of the agents. Pure."""

from collections.abc import Collection, Iterable

from sidecar.errors import ConfigError
from spark_jobs.changes.options import ChangesJobOptions
from spark_jobs.reconcile.source_table import SourceTable


def require_own_targets(
    options: ChangesJobOptions,
    tables: Iterable[SourceTable],
    stored_topics: Collection[str] = (),
) -> None:
    """Raise `ConfigError` if a target is of two tables, or if it is a topic of the agents.

    The agents and this job give topics the same names by default. Changes in a topic of events
    would make it invalid for every job that reads it. `stored_topics` are those that the version
    store has events of.
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
                f"The changes of {table} would go to `{target}`, a topic of the agents. Set "
                "another `topic.prefix` or `topic.template`. If the topic of the changes is in "
                "another cluster, name that cluster with `sink.kafka.bootstrap.servers`."
            )


def _targets(
    options: ChangesJobOptions, tables: Iterable[SourceTable]
) -> Iterable[tuple[str, str, str]]:
    """The option, the target and the table."""
    for table in tables:
        place = table.keyspace, table.name
        if "kafka" in options.sinks:
            yield "topic.template", options.topic_of(*place), table.full_name
        if options.table_sink is not None:
            yield "changes.table", options.changes_table_of(*place), table.full_name
