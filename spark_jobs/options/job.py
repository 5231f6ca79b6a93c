"""Options that jobs share: session, streaming query, invalid records, the source table."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import model_validator

from sidecar.logs import LogFormat, LogLevel
from sidecar.properties.model import PassThrough, Properties, pass_through, prop
from sidecar.properties.types import LogLevelName, LowerCase, Milliseconds
from spark_jobs.options.types import Count, Location, TableName, WritableFile


class SessionOptions(Properties):
    """Spark settings, jars, log format and log level."""

    spark: PassThrough = pass_through(
        "spark.",
        has_placeholders=True,
        doc="Settings of the Spark session for runs without spark-submit. Settings of spark-submit "
        "take precedence.",
    )
    jars_directory: Path | None = prop(
        "jars.dir",
        default=None,
        doc="Folder that `python -m spark_jobs.jars` filled. Needed only if neither the cluster "
        "nor spark-submit provides the jars.",
    )
    log_format: Annotated[LogFormat, LowerCase] = prop(
        "log.format", default="text", doc="Format of log lines: `text` or `json`."
    )
    log_level: Annotated[LogLevel, LogLevelName] = prop(
        "log.level", default="info", doc="Minimum level of log lines."
    )

    def spark_settings(self) -> dict[str, str]:
        """The settings with their `spark.` prefix."""
        return {f"spark.{name}": value for name, value in self.spark.items()}


class MetricsOptions(Properties):
    """Files with statistics of the job."""

    metrics_json_file: WritableFile | None = prop(
        "metrics.json.file",
        default=None,
        doc="File on the driver for statistics as JSON. The job replaces it while it runs.",
    )
    metrics_prometheus_file: WritableFile | None = prop(
        "metrics.prometheus.file",
        default=None,
        doc="File on the driver for statistics in Prometheus' text format (textfile collector).",
    )


class StreamOptions(MetricsOptions):
    """The streaming query."""

    checkpoint: Location = prop(
        "checkpoint",
        min_length=1,
        doc="Folder or URI of the checkpoint, which contains offsets and state. Each job needs a "
        "separate checkpoint, on storage with atomic rename.",
    )
    trigger: Annotated[Literal["available-now", "once", "processing-time"], LowerCase] = prop(
        "trigger",
        default="available-now",
        doc="`available-now` processes all available records in micro-batches of at most "
        "`max.offsets.per.trigger`, then stops. `once` uses a single micro-batch. "
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
        doc="Number of state partitions, such as 512 for a large cluster or 4 on one machine. It "
        "cannot change for a checkpoint. Defaults to `spark.sql.shuffle.partitions`.",
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


class InvalidRecordOptions(Properties):
    """How to handle invalid records: fail, or store them in a Delta table."""

    invalid_records: Annotated[Literal["fail", "dead-letter"], LowerCase] = prop(
        "invalid.records",
        default="fail",
        doc="Handling of records that the job cannot read. `fail`: the job reports their place "
        "and fails before it writes any part of the micro-batch. `dead-letter`: the job writes "
        "them to `dead.letter.path`, with the reason, and continues.",
    )
    dead_letter_path: Location | None = prop(
        "dead.letter.path",
        default=None,
        doc="Folder or URI of the Delta table of invalid records.",
    )

    @model_validator(mode="after")
    def _dead_letters_are_complete(self) -> "InvalidRecordOptions":
        if (self.invalid_records == "dead-letter") != (self.dead_letter_path is not None):
            raise ValueError(
                "`dead.letter.path` must be set for `invalid.records=dead-letter`, and only then"
            )
        return self


class SourceTableOptions(Properties):
    """The source table of a job that reads one table of the version store."""

    buckets: Count = prop("buckets", default=16, doc="Number of buckets of the version store.")
    schema_file: Path = prop(
        "schema.file",
        doc="Description of the source table: the output of `DESCRIBE … WITH INTERNALS`, the rows "
        "of `system_schema` as JSON, or an agent's `schema_history.json.gz`.",
    )
    table: TableName = prop("table", min_length=1, doc="The source table, as `keyspace.table`.")
