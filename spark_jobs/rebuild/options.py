"""Options of rebuild."""

import time
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, model_validator

from sidecar.properties.model import PassThrough, pass_through, prop
from sidecar.properties.types import LowerCase, Unit
from spark_jobs.options.job import SessionOptions, SourceTableOptions
from spark_jobs.options.types import (
    Location,
    Seconds,
    early_time_warnings,
    parse_moment,
    require_separate,
)
from spark_jobs.rebuild.window import Window

_US = 1_000_000


def _write_time(value: Any) -> Any:
    """Microseconds since 1970 from a number or an ISO-8601 time."""
    if not isinstance(value, str) or value.strip().isdigit():
        return value
    form = "a time such as 2026-11-26T20:15:00Z, or microseconds since 1970"
    moment = parse_moment(value, form)
    whole_s = int(moment.replace(microsecond=0).timestamp())
    return whole_s * _US + moment.microsecond


WriteTime = Annotated[int, BeforeValidator(_write_time), Unit("microseconds, or ISO-8601")]


class SourceOptions(SourceTableOptions):
    """Where the writes of the table come from."""

    output: Location | None = prop(
        "output",
        default=None,
        doc="Folder or URI of the version store that `spark_jobs.reconcile` writes.",
    )
    store_version: int | None = prop(
        "store.version",
        default=None,
        ge=0,
        doc="Version of the store's Delta table that contains all writes before the time or "
        "window. Defaults to the latest version that was committed a minute before it.",
    )
    history_s: Seconds = prop(
        "history.retention.seconds",
        default=0,
        ge=0,
        doc="How long the store keeps superseded states. Use the value of `spark_jobs.reconcile`.",
    )
    segments: Location | None = prop(
        "segments",
        default=None,
        doc="Folder or URI of archived segments, such as `s3a://bucket/prefix`, including all "
        "subfolders.",
    )
    segment_keys: PassThrough = pass_through(
        "segments.key.",
        has_placeholders=False,
        doc="Keys for decrypting segments, by alias, in hexadecimal digits.",
    )
    accepts_incomplete: bool = prop(
        "accept.incomplete",
        default=False,
        doc="Rebuild the table even if older writes are missing, because neither the store nor the "
        "segments reach back far enough.",
    )

    def keys(self) -> dict[str, bytes]:
        """The keys for decrypting segments, by alias."""
        return {alias: bytes.fromhex(digits) for alias, digits in self.segment_keys.items()}

    @model_validator(mode="after")
    def _sources_are_usable(self) -> "SourceOptions":
        if self.output is None and self.segments is None:
            raise ValueError("neither `output` nor `segments` is set. Set at least one of them")
        for alias, digits in self.segment_keys.items():
            try:
                bytes.fromhex(digits)
            except ValueError as error:
                raise ValueError(
                    f"`segments.key.{alias}` must consist of pairs of hexadecimal digits"
                ) from error
        return self


class RebuildOptions(SessionOptions, SourceOptions):
    at_us: WriteTime | None = prop(
        "at",
        default=None,
        doc="Rebuild the table as it was at this time: with the writes up to this time, but "
        "without values that had expired.",
    )
    without_from_us: WriteTime | None = prop(
        "without.from",
        default=None,
        doc="Omit the writes from this time up to `without.to`.",
    )
    without_to_us: WriteTime | None = prop(
        "without.to", default=None, doc="Write time of the last writes to omit."
    )
    format: Annotated[Literal["parquet", "delta", "iceberg", "cql"], LowerCase] = prop(
        "format", default="parquet", doc="Format of the result. `cql` writes files of statements."
    )
    target: str = prop(
        "target",
        min_length=1,
        doc="Folder or URI to write, or with `format=iceberg` the table name. The job replaces its "
        "content.",
    )
    cql_mode: Annotated[Literal["load", "undo"], LowerCase] = prop(
        "cql.mode",
        default="load",
        doc="With `format=cql`: `load` writes all rows with their write times, for an empty table. "
        "`undo` writes the differences between the current and the rebuilt table, for the live "
        "table.",
    )

    def window(self, now_us: int | None = None) -> Window:
        """The window of included writes. `now_us` defaults to the current time."""
        now_us = time.time_ns() // 1000 if now_us is None else now_us
        if self.at_us is not None:
            return Window(until_us=self.at_us, now_us=now_us)
        assert self.without_from_us is not None and self.without_to_us is not None
        return Window(without_us=(self.without_from_us, self.without_to_us), now_us=now_us)

    @model_validator(mode="after")
    def _one_window(self) -> "RebuildOptions":
        from_us, to_us = self.without_from_us, self.without_to_us
        if (from_us is None) != (to_us is None):
            raise ValueError("`without.from` and `without.to` belong together. Set both")
        if (self.at_us is None) == (from_us is None):
            raise ValueError("set either `at`, or `without.from` and `without.to`")
        if from_us is not None and to_us is not None and to_us < from_us:
            raise ValueError("`without.to` is before `without.from`")
        return self

    @model_validator(mode="after")
    def _folders_are_separate(self) -> "RebuildOptions":
        if self.format != "iceberg":
            sources = {"output": self.output, "segments": self.segments}
            require_separate("target", self.target, sources)
        return self

    def warnings(self) -> tuple[str, ...]:
        return super().warnings() + early_time_warnings(
            at=self.at_us, without_from=self.without_from_us
        )
