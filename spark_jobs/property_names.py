"""The property names of all jobs, so that the jobs of one target can share a properties file."""

from sidecar.properties.model import Properties, declarations
from spark_jobs.changes.options import ChangesJobOptions
from spark_jobs.compare.options import CompareOptions
from spark_jobs.dedupe.options import DedupeJobOptions
from spark_jobs.mongo_reconcile.options import MongoJobOptions
from spark_jobs.rebuild.options import RebuildOptions
from spark_jobs.reconcile.options import (
    PurgeOptions,
    ReconcileOptions,
    TruncateOptions,
    ViewOptions,
)
from spark_jobs.tables.options import ExpireOptions, HistoryOptions, TablesJobOptions
from spark_jobs.watermarks.options import WatermarkOptions

MODELS: tuple[type[Properties], ...] = (
    ChangesJobOptions,
    CompareOptions,
    DedupeJobOptions,
    ExpireOptions,
    HistoryOptions,
    MongoJobOptions,
    PurgeOptions,
    RebuildOptions,
    ReconcileOptions,
    TablesJobOptions,
    TruncateOptions,
    ViewOptions,
    WatermarkOptions,
)


def all_names() -> frozenset[str]:
    """All property names, and prefixes with a trailing dot."""
    return frozenset(
        name
        for model in MODELS
        for _, _, declaration in declarations(model)
        for name in declaration.names
    )
