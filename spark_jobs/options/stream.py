"""Options of the streaming query: checkpoint, trigger, state, metrics files."""

from typing import Annotated, Any, Literal

from sidecar.properties.model import Properties, prop
from sidecar.properties.types import LowerCase, Milliseconds
from spark_jobs.options.types import Count, Location, WritableFile

Trigger = Literal["available-now", "once", "processing-time"]


class StreamOptions(Properties):
    """The streaming query."""

    checkpoint: Location = prop(
        "checkpoint",
        min_length=1,
        doc="Folder or URI of the checkpoint, which holds offsets and state. Each job needs its "
        "own checkpoint, on storage with atomic rename.",
    )
    trigger: Annotated[Trigger, LowerCase] = prop(
        "trigger",
        default="available-now",
        doc="`available-now` processes all available records in micro-batches of at most "
        "`max.offsets.per.trigger`, then ends. `once` uses a single micro-batch. "
        "`processing-time` runs until you stop it.",
    )
    trigger_interval_ms: Milliseconds = prop(
        "trigger.interval.ms",
        default=60_000,
        doc="Interval between micro-batches with `trigger=processing-time`. Each micro-batch scans "
        "the whole state, so a large state needs a longer interval.",
    )
    state_partitions: Count | None = prop(
        "state.partitions",
        default=None,
        doc="Number of state partitions, fixed by the checkpoint: 512 for a large cluster, 4 on "
        "one machine. Not set: `spark.sql.shuffle.partitions`.",
    )
    metrics_json_file: WritableFile | None = prop(
        "metrics.json.file",
        default=None,
        doc="File on the driver for statistics as JSON. Replaced after each micro-batch.",
    )
    metrics_prometheus_file: WritableFile | None = prop(
        "metrics.prometheus.file",
        default=None,
        doc="File on the driver for statistics in Prometheus' text format (textfile collector).",
    )

    def warnings(self) -> tuple[str, ...]:
        warnings = super().warnings()
        if "trigger_interval_ms" in self.model_fields_set and self.trigger != "processing-time":
            warnings += ("`trigger.interval.ms` has no effect without `trigger=processing-time`.",)
        limit = getattr(self, "max_offsets_per_trigger", None)
        if limit is not None and self.trigger == "once":
            warnings += ("`max.offsets.per.trigger` has no effect with `trigger=once`.",)
        return warnings

    def trigger_arguments(self) -> dict[str, Any]:
        """The keyword arguments of `DataStreamWriter.trigger`."""
        if self.trigger == "processing-time":
            return {"processingTime": f"{self.trigger_interval_ms} milliseconds"}
        return {"availableNow": True}
