"""Options of `python -m spark_jobs.watermarks`."""

from typing import Annotated, Literal

from pydantic import model_validator

from sidecar.properties.model import prop
from sidecar.properties.types import LowerCase, Milliseconds, UpperCase
from spark_jobs.options.job import MetricsOptions, SessionOptions
from spark_jobs.options.kafka import SourceOptions
from spark_jobs.options.types import Location, TableList
from spark_jobs.tables.options import TableFormat
from spark_jobs.watermarks.quorum import WriteConsistency
from spark_jobs.watermarks.table_watermark import WatermarkRules


class WatermarkOptions(SessionOptions, MetricsOptions, SourceOptions):
    """Options of the job. `topics` is the `watermark.topic` of the agents."""

    tables: TableList = prop(
        "tables",
        default=(),
        doc="Tables, as `keyspace.table`. Defaults to all tables that the agents publish.",
    )
    write_consistency: Annotated[WriteConsistency, UpperCase] = prop(
        "write.consistency",
        default="ONE",
        doc="Weakest consistency level of the clients' writes. With `ONE`, all replicas must have "
        "reported a time; with `QUORUM` and a replication factor of 3, two of them.",
    )
    clock_skew_ms: Milliseconds = prop(
        "clock.skew.ms",
        default=1000,
        doc="Maximum difference between a node's clock and the true time.",
    )
    write_timeout_ms: Milliseconds = prop(
        "write.timeout.ms",
        default=10_000,
        doc="Longest request timeout of writes in `cassandra.yaml`.",
    )
    baseline_ms: int | None = prop(
        "baseline.ms",
        default=None,
        ge=0,
        doc="Time in milliseconds since 1970 up to which the consumer is known to be complete, "
        "such as from a snapshot or a comparison. The watermarks continue from there, even after "
        "a gap.",
    )
    state: Location = prop(
        "state",
        min_length=1,
        doc="Folder or URI for the watermarks of the last run, which the next run continues.",
    )
    store: Location | None = prop(
        "store",
        default=None,
        doc="A Delta table whose commits contain the offsets that it has reached, such as the "
        "`output` of reconcile. The report then includes its watermarks.",
    )
    format: TableFormat = prop(
        "format", default="delta", doc="Format of the typed tables in `target`."
    )
    target: str | None = prop(
        "target",
        default=None,
        min_length=1,
        doc="Location of typed tables, such as the `target` of the job `tables`. The report then "
        "includes their watermarks. Cannot be combined with `store`.",
    )
    trigger: Annotated[Literal["available-now", "processing-time"], LowerCase] = prop(
        "trigger",
        default="available-now",
        doc="`available-now` evaluates the watermarks once. `processing-time` repeats this until "
        "you stop the job.",
    )
    trigger_interval_ms: Milliseconds = prop(
        "trigger.interval.ms",
        default=60_000,
        doc="Pause between two evaluations with `trigger=processing-time`.",
    )

    @model_validator(mode="after")
    def _one_consumer(self) -> "WatermarkOptions":
        if self.store is not None and self.target is not None:
            raise ValueError("`store` and `target` are both set. Set only one of them")
        return self

    def rules(self) -> WatermarkRules:
        return WatermarkRules(self.write_consistency, self.clock_skew_ms, self.write_timeout_ms)
