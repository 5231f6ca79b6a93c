"""The Spark jobs, from their metrics files."""

from typing import Any

from tests.support.monitoring.dashboards.dashboard import dashboard, variable
from tests.support.monitoring.dashboards.panels import (
    Column,
    Limits,
    Query,
    Row,
    graph,
    stat,
    table,
)

CHOSEN = '{instance=~"$instance"}'


def recent(metric: str) -> str:
    """The increase of a counter in the last hour; each run starts at zero."""
    return f"increase({metric}{CHOSEN}[1h])"


def spark() -> dict[str, Any]:
    """The dashboard of the jobs."""
    reported = f"cdc_spark_reported_timestamp_seconds{CHOSEN}"
    jobs = Row(
        "Jobs",
        (
            stat(
                "Failed",
                "short",
                Query(f"sum(cdc_spark_run_failed{CHOSEN})"),
                about="Jobs whose last run failed.",
                limits=Limits(critical=1),
            ),
            stat(
                "Oldest report",
                "s",
                Query(f"time() - min({reported})"),
                about="Time since the last report of the most silent job.",
                limits=Limits(3600, 7200),
            ),
            table(
                "Jobs",
                (
                    Column("Job", label="spark_job"),
                    Column(
                        "Last report",
                        f"max by (spark_job) (time() - {reported})",
                        unit="s",
                        limits=Limits(3600, 7200),
                    ),
                    Column(
                        "Last run failed",
                        f"max by (spark_job) (cdc_spark_run_failed{CHOSEN})",
                        limits=Limits(critical=1),
                    ),
                    Column(
                        "Records behind", f"max by (spark_job) (cdc_spark_records_behind{CHOSEN})"
                    ),
                ),
                about="The worst driver of each job.",
                labels=f"group by (spark_job) ({reported})",
                join="spark_job",
                sort=("Last run failed", "Last report"),
                height=8,
                width=16,
            ),
            graph(
                "Records behind",
                "short",
                Query(f"cdc_spark_records_behind{CHOSEN}", "{{spark_job}}"),
                about="Records after the last micro-batch, in the topic partition with most of "
                "them. It grows while a job is too slow.",
            ),
            graph(
                "Duration of the last micro-batch",
                "s",
                Query(f"cdc_spark_batch_seconds{CHOSEN}", "{{spark_job}}"),
                about="A continuous job needs less than `trigger.interval.ms`.",
            ),
        ),
    )
    dedupe = Row(
        "Dedupe",
        (
            graph(
                "Records and events",
                "short",
                Query(recent("cdc_dedupe_records_total"), "records read"),
                Query(recent("cdc_dedupe_events_total"), "events written"),
                Query(recent("cdc_dedupe_replica_copies_dropped_total"), "replica copies dropped"),
                about="In the last hour.",
            ),
            graph(
                "Replica copies of an event",
                "short",
                Query(f"cdc_dedupe_replica_copies_per_event{CHOSEN}"),
                about="Close to the replication factor without retries and idle replicas.",
            ),
            graph(
                "Invalid records",
                "short",
                Query(recent("cdc_dedupe_invalid_records_total")),
                about="In the last hour. Something other than an agent writes to the topics.",
                limits=Limits(warning=1),
            ),
            graph(
                "Silence of replicas",
                "s",
                Query(f"cdc_dedupe_replica_idle_seconds{CHOSEN}", "{{node}}"),
                about="Time since the last record of each node.",
                limits=Limits(1800, 3600),
            ),
            graph(
                "Age of the newest write",
                "s",
                Query(f"time() - cdc_dedupe_newest_write_timestamp_seconds{CHOSEN}"),
                about="It grows while there are no writes, or while the job is behind.",
            ),
            graph(
                "Micro-batches",
                "short",
                Query(recent("cdc_dedupe_batches_total")),
                about="With at least one record, in the last hour.",
            ),
            graph(
                "Keys in the state",
                "short",
                Query(f"cdc_dedupe_state_rows{CHOSEN}"),
                about="Events that the job remembers.",
            ),
            graph(
                "Memory of the state",
                "bytes",
                Query(f"cdc_dedupe_state_bytes{CHOSEN}"),
                about="Of all state stores.",
            ),
        ),
    )
    reconcile = Row(
        "Version store",
        (
            graph(
                "Records",
                "short",
                Query(recent("cdc_reconcile_records_total"), "Cassandra: {{instance}}"),
                Query(recent("cdc_mongo_reconcile_records_total"), "MongoDB: {{instance}}"),
                about="Read in the last hour.",
            ),
            graph(
                "Micro-batches",
                "short",
                Query(recent("cdc_reconcile_micro_batches_total")),
                about="With at least one record, in the last hour.",
            ),
            graph(
                "Compacted buckets",
                "short",
                Query(recent("cdc_reconcile_compacted_buckets_total")),
                about="In the last hour.",
            ),
            graph(
                "Bytes of the version store",
                "bytes",
                Query(f"cdc_store_bytes{CHOSEN}"),
                about="Of its current version. VACUUM removes files of older versions.",
            ),
            graph(
                "Rows of the version store",
                "short",
                Query(f"cdc_store_rows{CHOSEN}"),
                about="Events and merged states. Compaction lowers it.",
            ),
            graph(
                "Files of the version store",
                "short",
                Query(f"cdc_store_files{CHOSEN}"),
                about="Compaction lowers it.",
            ),
        ),
    )
    follow = Row(
        "Tables and changes",
        (
            graph(
                "Changed rows",
                "short",
                Query(
                    "sum by (spark_job, table) (" + recent("cdc_follow_changes_total") + ")",
                    "{{spark_job}} {{table}}",
                ),
                about="Applied in the last hour.",
            ),
            graph(
                "Age of the position",
                "s",
                Query(
                    f"time() - cdc_follow_position_timestamp_seconds{CHOSEN}",
                    "{{spark_job}} {{table}}",
                ),
                about="The target equals the version store at this age. It grows during a batch.",
            ),
            graph(
                "Age of the newest write",
                "s",
                Query(
                    f"time() - cdc_follow_newest_write_timestamp_seconds{CHOSEN}",
                    "{{spark_job}} {{table}}",
                ),
                about="It grows while there are no writes, or while the job is behind.",
            ),
            graph(
                "Duration of the last batch",
                "s",
                Query(f"cdc_follow_batch_seconds{CHOSEN}", "{{spark_job}} {{table}}"),
                about="From the read of the changes to the commit in the target.",
            ),
            graph(
                "Batches",
                "short",
                Query(recent("cdc_follow_batches_total"), "{{spark_job}} {{table}}"),
                about="Applied in the last hour.",
            ),
        ),
    )
    complete = Row(
        "Completeness",
        (
            graph(
                "Age of the watermarks of topics",
                "s",
                Query(f"time() - cdc_table_watermark_timestamp_seconds{CHOSEN}", "{{table}}"),
                about="The topics have every acknowledged write from before.",
            ),
            graph(
                "Age of the watermarks of the table",
                "s",
                Query(
                    f"time() - cdc_table_watermark_consumed_timestamp_seconds{CHOSEN}", "{{table}}"
                ),
                about="The table of a job has every acknowledged write from before.",
            ),
        ),
    )
    query = "label_values(cdc_spark_reported_timestamp_seconds, instance)"
    return dashboard(
        "cdc-sidecar-spark",
        "cdc-sidecar: Spark jobs",
        "Spark jobs, from their metrics files.",
        [variable("instance", "Driver", query)],
        (jobs, dedupe, reconcile, follow, complete),
    )
