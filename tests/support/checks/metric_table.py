"""`python -m tests.support.checks.metric_table` prints docs/reference/metrics.md: every metric."""

from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase

from agent.metrics import AgentMetrics
from mongo_agent.metrics import MongoMetrics
from sidecar.instance import Instance
from sidecar.metrics import DeliveryMetrics
from spark_jobs import metrics_files
from spark_jobs.dedupe import stats as dedupe
from spark_jobs.follow.plan import Position
from spark_jobs.follow.stats import TableStats, add_metrics
from spark_jobs.mongo_reconcile import job as mongo_reconcile
from spark_jobs.progress import MicroBatch
from spark_jobs.reconcile import job as reconcile
from spark_jobs.reconcile.store import StoreSize
from spark_jobs.watermarks import job as watermarks
from spark_jobs.watermarks.state import WatermarkState

HEAD = """# Metrics

This page lists every metric of `/metrics` and of the Spark jobs' files, except those of the process
(`process_*`, `python_info`). `make docs` writes it from the code. A test fails when a listed metric
loses its name, type or labels. [Alarms](../how-to/alarms.md) is the runbook.
"""


@dataclass(frozen=True, slots=True, order=True)
class Metric:
    """One metric as Prometheus shows it."""

    name: str
    type: str
    labels: tuple[str, ...]
    doc: str


def metrics_of(registry: CollectorRegistry) -> list[Metric]:
    """Those with our prefix, by name."""
    found = set()
    # The registry has no other way to ask for labels of a metric that has no values yet.
    for collector in list(registry._collector_to_names):
        if not isinstance(collector, MetricWrapperBase):
            continue
        (family,) = collector.describe()
        suffix = {"counter": "_total", "info": "_info"}.get(family.type, "")
        if family.name.startswith("cdc_"):
            labels = tuple(collector._labelnames)
            if family.type == "info":
                labels = tuple(Instance("", "", "", "", "", "", "", "").labels())
            shown = "gauge" if family.type == "info" else family.type
            found.add(Metric(family.name + suffix, shown, labels, family.documentation))
    return sorted(found)


def delivery() -> DeliveryMetrics:
    return DeliveryMetrics("agent", "1")


def spark_registries() -> dict[str, CollectorRegistry]:
    """The metrics of each job, after a micro-batch."""
    batch = dedupe.BatchStats(1, 1, 3, 0, 1, frozenset("a"), 1, 1, 1, 0, 1)
    stored = reconcile.RunStats(store=StoreSize(1, 1, 1))
    tables = reconcile.registry_of(stored)
    add_metrics(tables, "tables", {"shop.orders": TableStats(1, 1, 1, 1, 1, 1, Position(1, 1))})
    return {
        "dedupe": dedupe.registry_of(dedupe.RunStats().plus(batch), 1),
        "reconcile": reconcile.registry_of(stored),
        "tables": tables,
        "mongo-reconcile": mongo_reconcile.registry_of(0),
        "watermarks": watermarks.registry_of(WatermarkState()),
    }


def spark() -> list[Metric]:
    """The metrics in the files of the jobs."""
    found = set()
    for job, registry in spark_registries().items():
        metrics_files.add_run(registry, job, 1, MicroBatch(1, 1), has_failed=False)
        found.update(metrics_of(registry))
    return sorted(found)


def all_metrics() -> dict[str, list[Metric]]:
    """By the heading of their table."""
    shared = metrics_of(delivery().registry)
    cassandra = metrics_of(AgentMetrics(delivery()).delivery.registry)
    mongo = metrics_of(MongoMetrics(delivery()).delivery.registry)
    return {
        "Both agents: delivery": shared,
        "Cassandra": [each for each in cassandra if each not in shared],
        "MongoDB": [each for each in mongo if each not in shared],
        "Spark": spark(),
    }


def table() -> str:
    lines = [HEAD]
    for heading, metrics in all_metrics().items():
        lines += [f"## {heading}", "", "| metric | type | labels | meaning |", "| - | - | - | - |"]
        for each in metrics:
            labels = ", ".join(f"`{label}`" for label in each.labels)
            lines.append(f"| `{each.name}` | {each.type} | {labels} | {each.doc} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(), end="")
