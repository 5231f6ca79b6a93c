"""How a job runs over a stream: checkpoint, trigger, state, what it tells about itself."""

from typing import Annotated, Any, Literal

from sidecar.properties import LowerCase, Milliseconds, Properties, prop
from spark_jobs.options.values import Count, Location, WritableFile

Trigger = Literal["available-now", "once", "processing-time"]


class StreamOptions(Properties):
    """The streaming query."""

    checkpoint: Location = prop(
        "checkpoint",
        min_length=1,
        doc="Folder or URI of the checkpoint: offsets and state. One for each job, never shared, "
        "on storage with atomic rename.",
    )
    trigger: Annotated[Trigger, LowerCase] = prop(
        "trigger",
        default="available-now",
        doc="`available-now` works off what there is, in micro-batches of at most "
        "`max.offsets.per.trigger`, and ends; `once` does so in a single micro-batch; "
        "`processing-time` goes on until it is stopped.",
    )
    trigger_interval_ms: Milliseconds = prop(
        "trigger.interval.ms",
        default=60_000,
        doc="From one micro-batch to the next under `processing-time`. Each scans the state once, "
        "so lengthen it with the state.",
    )
    state_partitions: Count | None = prop(
        "state.partitions",
        default=None,
        doc="Partitions of the state, which the checkpoint keeps for good: 512 for a large "
        "cluster, 4 on one machine. Not set: `spark.sql.shuffle.partitions`.",
    )
    metrics_json_file: WritableFile | None = prop(
        "metrics.json.file",
        default=None,
        doc="File on the driver that holds the figures as JSON, new after each micro-batch.",
    )
    metrics_prometheus_file: WritableFile | None = prop(
        "metrics.prometheus.file",
        default=None,
        doc="The same in Prometheus' text form, for a textfile collector.",
    )

    def warnings(self) -> tuple[str, ...]:
        sentences = super().warnings()
        if "trigger_interval_ms" in self.model_fields_set and self.trigger != "processing-time":
            sentences += ("`trigger.interval.ms` has no effect without `trigger=processing-time`.",)
        limit = getattr(self, "max_offsets_per_trigger", None)
        if limit is not None and self.trigger == "once":
            sentences += ("`max.offsets.per.trigger` has no effect with `trigger=once`.",)
        return sentences

    def trigger_arguments(self) -> dict[str, Any]:
        """The keyword arguments of `DataStreamWriter.trigger`."""
        if self.trigger == "processing-time":
            return {"processingTime": f"{self.trigger_interval_ms} milliseconds"}
        return {"availableNow": True}
