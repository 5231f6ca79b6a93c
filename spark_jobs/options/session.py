"""Options of the Spark session, its jars and the log of a job."""

from pathlib import Path
from typing import Annotated

from sidecar.logs import LogFormat, LogLevel
from sidecar.properties.model import PassThrough, Properties, pass_through, prop
from sidecar.properties.types import LogLevelName, LowerCase


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
        "log.level", default="info", doc="Lowest level that is logged."
    )

    def spark_settings(self) -> dict[str, str]:
        """The settings with their `spark.` prefix."""
        return {f"spark.{name}": value for name, value in self.spark.items()}
