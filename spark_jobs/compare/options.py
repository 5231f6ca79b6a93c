"""Options of `python -m spark_jobs.compare`."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, SecretStr, field_validator, model_validator

from sidecar.properties.model import Properties, prop
from sidecar.properties.types import CommaList, Milliseconds, UpperCase
from spark_jobs.compare.cassandra_pages import Contact, Tls
from spark_jobs.compare.row_difference import ReadTimes
from spark_jobs.options.job import SessionOptions, SourceTableOptions
from spark_jobs.options.types import (
    Count,
    Location,
    Seconds,
    WritableFile,
    parse_moment,
    require_separate,
)
from spark_jobs.tables.options import TableFormat

_PORT = 9042
ReadConsistency = Literal[
    "ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_QUORUM", "EACH_QUORUM", "LOCAL_ONE"
]


def _moment_ms(value: object) -> object:
    if not isinstance(value, str) or value.strip().lstrip("-").isdecimal():
        return value
    moment = parse_moment(value, "a time in ISO-8601, or in milliseconds since 1970")
    return int(moment.timestamp() * 1000)


class CassandraOptions(Properties):
    """Settings for connecting to the cluster, named like the agent's properties."""

    cassandra_hosts: CommaList = prop(
        "cassandra.hosts",
        min_length=1,
        doc="Contact points for the executors, separated by commas.",
    )
    cassandra_port: int = prop(
        "cassandra.port", default=_PORT, ge=1, le=65535, doc="CQL port of the nodes."
    )
    cassandra_data_center: str | None = prop(
        "cassandra.data.center",
        default=None,
        min_length=1,
        doc="Data center whose nodes coordinate the reads. Defaults to all data centers.",
    )
    cassandra_username: str | None = prop(
        "cassandra.username", default=None, min_length=1, doc="CQL user."
    )
    cassandra_password: SecretStr | None = prop(
        "cassandra.password",
        default=None,
        secret=True,
        min_length=1,
        doc="Password of the CQL user. Use `${file:/path}` or `${env:NAME}` to store it elsewhere.",
    )
    cassandra_ssl_enabled: bool = prop(
        "cassandra.ssl.enabled", default=False, doc="Whether the CQL connections use TLS."
    )
    cassandra_ssl_ca_path: Path | None = prop(
        "cassandra.ssl.ca.path",
        default=None,
        doc="PEM file on the driver with the CA certificates that verify the nodes' certificates. "
        "Defaults to the executors' system certificates.",
    )
    cassandra_ssl_certificate_path: Path | None = prop(
        "cassandra.ssl.certificate.path",
        default=None,
        doc="PEM file with the client certificate, at this path on each executor.",
    )
    cassandra_ssl_key_path: Path | None = prop(
        "cassandra.ssl.key.path",
        default=None,
        doc="PEM file with the key of the client certificate, if the key is in a separate file. "
        "The path is the same on each executor.",
    )
    cassandra_ssl_check_hostname: bool = prop(
        "cassandra.ssl.check.hostname",
        default=True,
        doc="Whether a node's certificate must contain the host name of the connection.",
    )

    def contact(self) -> Contact:
        """Return the connection settings. Raises OSError if the CA file cannot be read."""
        password, tls = self.cassandra_password, None
        if self.cassandra_ssl_enabled:
            ca = self.cassandra_ssl_ca_path
            tls = Tls(
                None if ca is None else ca.read_text(encoding="ascii"),
                self.cassandra_ssl_certificate_path,
                self.cassandra_ssl_key_path,
                self.cassandra_ssl_check_hostname,
            )
        return Contact(
            hosts=tuple(self.cassandra_hosts),
            port=self.cassandra_port,
            data_center=self.cassandra_data_center,
            username=self.cassandra_username,
            password=None if password is None else password.get_secret_value(),
            tls=tls,
        )

    @model_validator(mode="after")
    def _login_is_whole(self) -> "CassandraOptions":
        if (self.cassandra_username is None) != (self.cassandra_password is None):
            raise ValueError("`cassandra.username` and `cassandra.password` belong together")
        return self


class CompareOptions(SessionOptions, SourceTableOptions, CassandraOptions):
    output: Location = prop(
        "output",
        min_length=1,
        doc="Folder or URI of the version store that `spark_jobs.reconcile` writes.",
    )
    target: str | None = prop(
        "target",
        default=None,
        min_length=1,
        doc="`target` of `spark_jobs.tables`, to compare its typed table too. By default, the job "
        "compares only the version store.",
    )
    format: TableFormat = prop(
        "format", default="delta", doc="Format of the typed table: `delta` or `iceberg`."
    )
    state: Location = prop(
        "state",
        min_length=1,
        doc="Folder or URI for the progress of one table. The next run resumes from it.",
    )
    consistency: Annotated[ReadConsistency, UpperCase] = prop(
        "consistency",
        default="LOCAL_QUORUM",
        doc="Consistency level of the reads. `ALL` also finds writes stored on only one replica.",
    )
    ranges: int = prop(
        "ranges",
        default=1024,
        ge=1,
        le=65_536,
        doc="Number of token ranges, each with a digest. Rounded up to a power of two.",
    )
    tasks: Count = prop(
        "tasks", default=4, doc="Number of tasks that read from Cassandra at the same time."
    )
    group_ranges: Count = prop(
        "group.ranges",
        default=64,
        doc="Number of ranges to read before the progress is stored.",
    )
    page_rows: Count = prop("page.rows", default=1000, doc="Maximum rows per page.")
    rows_per_second: Count | None = prop(
        "rows.per.second",
        default=None,
        doc="Maximum number of rows that each task reads per second. Defaults to no limit.",
    )
    expiry_margin_s: Seconds = prop(
        "expiry.margin.seconds",
        default=600,
        ge=0,
        doc="Digests ignore values that expire within this time after the start.",
    )
    watermarks: Location | None = prop(
        "watermarks",
        default=None,
        doc="`state` of `spark_jobs.watermarks`, run with `store` set to this store. It records up "
        "to which time the store is complete.",
    )
    complete_until_ms: Annotated[int | None, BeforeValidator(_moment_ms)] = prop(
        "complete.until",
        default=None,
        doc="Time up to which the store is known to be complete, instead of `watermarks`: "
        "ISO-8601 with a zone, or milliseconds since 1970.",
    )
    clock_skew_ms: Milliseconds = prop(
        "clock.skew.ms",
        default=1000,
        doc="Maximum difference between the clocks of the driver, the nodes and the clients.",
    )
    write_timeout_ms: Milliseconds = prop(
        "write.timeout.ms",
        default=10_000,
        doc="Maximum time from a write's timestamp to its completion. A read may miss a write that "
        "is still in progress.",
    )
    wait_s: Seconds = prop(
        "wait.seconds",
        default=0,
        ge=0,
        doc="Maximum total wait in a run: until the watermark passes the end of the reads, and "
        "until the typed table contains the changes from before the reads.",
    )
    report_rows: Count = prop(
        "report.rows", default=100, doc="Maximum number of rows per cause in the report."
    )
    report_html_file: WritableFile | None = prop(
        "report.html.file", default=None, doc="File on the driver for the report as HTML."
    )
    report_json_file: WritableFile | None = prop(
        "report.json.file", default=None, doc="File on the driver for the report as JSON."
    )

    def widened(self, times: ReadTimes) -> ReadTimes:
        """Widen read times by the clock skew and by the writes that the read may have missed."""
        skew_us, timeout_us = self.clock_skew_ms * 1000, self.write_timeout_ms * 1000
        from_us, to_us = times.from_us - skew_us - timeout_us, times.to_us + skew_us
        return ReadTimes(from_us, to_us, times.complete_us)

    @field_validator("complete_until_ms")
    @classmethod
    def _not_negative(cls, value: int | None) -> int | None:
        if value is not None and value < 0:
            raise ValueError("must not be before 1970")
        return value

    @model_validator(mode="after")
    def _is_possible(self) -> "CompareOptions":
        if self.watermarks is not None and self.complete_until_ms is not None:
            raise ValueError("`watermarks` and `complete.until` are both set. Set only one")
        target = self.target if self.format == "delta" else None
        others = {"output": self.output, "watermarks": self.watermarks, "target": target}
        require_separate("state", self.state, others)
        return self
