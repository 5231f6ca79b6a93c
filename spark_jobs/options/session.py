"""What a job runs in: Spark, its jars, log lines."""

from pathlib import Path
from typing import Annotated

from sidecar.logs import LogFormat, LogLevel
from sidecar.properties import LogLevelName, LowerCase, PassThrough, Properties, pass_through, prop


class SessionOptions(Properties):
    """Settings of the Spark session and of the job's own log."""

    spark: PassThrough = pass_through(
        "spark.",
        has_placeholders=True,
        doc="Settings of the Spark session, for runs without spark-submit; what spark-submit was "
        "given wins.",
    )
    jars_directory: Path | None = prop(
        "jars.dir",
        default=None,
        doc="Folder of `python -m spark_jobs.jars`, where neither the cluster nor spark-submit "
        "brings the jars.",
    )
    log_format: Annotated[LogFormat, LowerCase] = prop(
        "log.format", default="text", doc="Log lines as text or as JSON objects."
    )
    log_level: Annotated[LogLevel, LogLevelName] = prop(
        "log.level", default="info", doc="Least level that is logged."
    )

    def spark_settings(self) -> dict[str, str]:
        """`spark.*` names and values."""
        return {f"spark.{name}": value for name, value in self.spark.items()}
