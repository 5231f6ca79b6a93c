"""The job: digests of the live table, digests of the store, then the rows of ranges that differ.

Each read of the live table comes before the read of the store, so the store can be complete up to
it. What was read is stored in `state`: a run that stopped, or that found the store incomplete,
continues there without reading again.
"""

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from sidecar.errors import ConfigError
from sidecar.logs import fields
from spark_jobs.compare.differences import (
    Explainer,
    differing_rows,
    explained,
    with_later_writes,
)
from spark_jobs.compare.digests import RangeDigest, compared_columns, range_digests
from spark_jobs.compare.live_rows import LiveReader, read_live
from spark_jobs.compare.options import CompareOptions
from spark_jobs.compare.progress import (
    Progress,
    ReadRanges,
    groups_of,
    progress_from_json,
    progress_to_json,
)
from spark_jobs.compare.report import ComparisonReport, DifferingRow
from spark_jobs.compare.row_difference import SEVERITY, Cause, ReadTimes, is_truncation
from spark_jobs.compare.store_watermark import complete_until_us
from spark_jobs.compare.token_ranges import range_of, token_ranges
from spark_jobs.errors import CheckpointError
from spark_jobs.job_description import job_description
from spark_jobs.options.command_line import JobReport
from spark_jobs.rebuild.table_layout import read_layout
from spark_jobs.reconcile.merged import merged, merger_of
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable, read_schema
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.session import create_job_session
from spark_jobs.storage import Folder
from spark_jobs.watermarks.job import STATE_FILE as WATERMARKS_FILE
from spark_jobs.watermarks.state import state_from_json

logger = logging.getLogger(__name__)
PROGRESS_FILE = "comparison.json"
_POLL_S = 2.0
_US = 1_000_000
_MERGED = ("token", "event", "state")


def main(options: CompareOptions) -> JobReport:
    """Run in a new session."""
    schema = read_schema(options.schema_file)
    with create_job_session("cdc-compare", options) as session:
        report = run(session, options, schema)
    for path, text in (
        (options.report_html_file, report.page()),
        (options.report_json_file, json.dumps(report.values(), indent=2) + "\n"),
    ):
        if path is not None:
            _replace(path, text)
    return JobReport(report.message(), report.values(), report.exit_code)


def run(
    session: SparkSession,
    options: CompareOptions,
    schema: SourceSchema,
    *,
    now_us: Callable[[], int] = lambda: time.time_ns() // 1000,
) -> ComparisonReport:
    """Compare one table. Raises `ConfigError`, `CheckpointError`, or an exception of Spark."""
    table = schema.table(options.table)
    if table.has_counters:
        raise ConfigError(
            f"table: {table.full_name} is a counter table, for which CQL returns no write times. "
            "Compare another table."
        )
    if not DeltaTable.isDeltaTable(session, options.output):
        raise ConfigError(
            f"output: {options.output} is no Delta table. Name the `output` of "
            "spark_jobs.reconcile."
        )
    return _Comparison(session, options, schema, table, now_us).run()


class _Comparison:
    def __init__(
        self,
        session: SparkSession,
        options: CompareOptions,
        schema: SourceSchema,
        table: SourceTable,
        now_us: Callable[[], int],
    ) -> None:
        self._session = session
        self._options = options
        self._table = table
        self._now_us = now_us
        self._layout = read_layout(schema.schema, table.id)
        self._columns = compared_columns(self._layout)
        self._merger = merger_of(schema, table)
        self._ranges = token_ranges(options.ranges)
        self._store = VersionStore(session, options.output, buckets=options.buckets)
        self._folder = Folder(session, options.state)
        self._progress = self._load()
        self._truncated_us: dict[int, int | None] = {}
        self._reader = LiveReader(
            options.contact(),
            self._merger,
            schema.schema.to_stored(),
            table.id,
            options.consistency,
            options.page_rows,
            options.rows_per_second,
            self._progress.second,
        )

    def run(self) -> ComparisonReport:
        for group in groups_of(self._progress.unread(), self._options.group_ranges):
            self._read_digests(group)
        self._wait()
        differing = self._progress.differing(self._store_digests())
        for group in groups_of(self._progress.to_store(differing), self._options.group_ranges):
            self._read_rows(group)
        complete_us = self._wait()
        version = self._store.version()
        if differing:
            self._explain(differing, complete_us, version)
        report = self._report(differing, complete_us, version)
        self._save(replace(self._progress, is_finished=report.verdict != "not_there_yet"))
        return report

    def _load(self) -> Progress:
        """The progress of an unfinished comparison of the same subject, or a new one."""
        begun = self._new_progress()
        if not self._folder.exists(PROGRESS_FILE):
            return begun
        try:
            found = progress_from_json(self._folder.read_text(PROGRESS_FILE))
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"{self._options.state}/{PROGRESS_FILE} is not the progress of this job "
                f"({error!r}). Remove it, or set another `state`."
            ) from error
        if found.table_id != self._table.id:
            raise CheckpointError(
                f"{self._options.state} has the progress of another table. Set another `state`."
            )
        is_same = (found.consistency, found.ranges) == (begun.consistency, begun.ranges)
        return found if is_same and not found.is_finished else begun

    def _new_progress(self) -> Progress:
        second = self._now_us() // _US + self._options.expiry_margin_s
        return Progress(
            self._table.id,
            self._options.consistency,
            len(self._ranges),
            self._store.version(),
            second,
        )

    def _save(self, progress: Progress) -> None:
        self._progress = progress
        self._folder.write_text(PROGRESS_FILE, progress_to_json(progress))

    def _read_digests(self, group: Sequence[int]) -> None:
        from_us = self._now_us()
        with self._described(f"read {len(group)} token ranges"):
            found = range_digests(self._live(group, self._reader), len(self._ranges), self._columns)
        self._save(
            self._progress.with_digests(ReadRanges(tuple(group), from_us, self._now_us()), found)
        )
        done = sum(len(each.ranges) for each in self._progress.read)
        logger.info("token ranges read", extra=fields(read=done, ranges=len(self._ranges)))

    def _read_rows(self, group: Sequence[int]) -> None:
        """Store the live rows of ranges, with all values."""
        from_us = self._now_us()
        place = self._rows_of(len(self._progress.stored))
        rows = self._live(group, replace(self._reader, now_s=0))
        with self._described(f"read the rows of {len(group)} token ranges that differ"):
            rows.write.mode("overwrite").parquet(place)
        self._save(self._progress.with_rows(ReadRanges(tuple(group), from_us, self._now_us())))
        logger.info("rows of token ranges read", extra=fields(ranges=len(group)))

    def _live(self, group: Sequence[int], reader: LiveReader) -> DataFrame:
        ranges = [self._ranges[number] for number in group]
        return read_live(self._session, reader, ranges, self._options.tasks)

    def _store_digests(self) -> dict[int, RangeDigest]:
        version = self._store.version()
        stored = self._store.rows(self._table.id, version).select(*_MERGED)
        rows = self._visible(stored, version, self._progress.second)
        with self._described("digests of the store"):
            return range_digests(rows, len(self._ranges), self._columns)

    def _stored(self, version: int, ranges: Sequence[int]) -> DataFrame:
        """What the store has of some ranges. Values that compaction dropped since the first read
        are there, because a later write may have replaced them."""
        before = self._progress.store_version
        stored = self._store.rows(self._table.id, before).select(*_MERGED)
        if version > before:
            added = self._store.added(self._table.id, before, version)
            stored = stored.unionByName(added.select(*_MERGED))
        return stored.where(range_of(F.col("token"), len(self._ranges)).isin(*ranges))

    def _visible(
        self, stored: DataFrame, version: int, second: int, until_us: int | None = None
    ) -> DataFrame:
        """The rows that the store shows at a second, with writes up to a time."""
        if version not in self._truncated_us:
            self._truncated_us[version] = self._store.truncated_us(self._table.id, version)
        merge = partial(
            self._merger.rows,
            now_s=second,
            truncated_us=self._truncated_us[version],
            until_us=until_us,
        )
        return merged(stored, merge, self._merger.rows_schema)

    def _explain(
        self, differing: Sequence[int], complete_us: Mapping[int, int], version: int
    ) -> None:
        """Store one row for each row that differs, with its cause."""
        groups = self._progress.stored
        live = self._session.read.parquet(*(self._rows_of(at) for at in range(len(groups))))
        live = live.where(range_of(F.col("token"), len(self._ranges)).isin(*differing))
        times = {
            number: ReadTimes(group.from_us, group.to_us, complete_us.get(number))
            for group in groups
            for number in group.ranges
        }
        store = self._visible(self._stored(version, differing), version, self._row_second)
        rows = differing_rows(live, store, len(self._ranges), self._columns)
        explainer = Explainer(self._layout, self._columns, times)
        with self._described(f"compare the rows of {len(differing)} token ranges"):
            explained(rows, explainer).write.mode("overwrite").parquet(self._place("found"))
        found = self._session.read.parquet(self._place("found"))
        with self._described("find later writes and truncations"):
            final = self._with_truncations(self._with_later_writes(found, version))
            final.write.mode("overwrite").parquet(self._place("differences"))

    def _with_later_writes(self, found: DataFrame, version: int) -> DataFrame:
        """The rows without losses that writes after the read explain."""
        lost = found.where(F.col("cause") == Cause.LOSS)
        changed = self._changed_since(lost, version)
        if changed is None:
            return found
        with_later_writes(found, changed).write.mode("overwrite").parquet(self._place("settled"))
        return self._session.read.parquet(self._place("settled"))

    def _changed_since(self, lost: DataFrame, version: int) -> DataFrame | None:
        """The rows in partitions of lost ones that writes after the read changed in the store."""
        ranges = {row["range"] for row in lost.select("range").distinct().collect()}
        tokens = lost.select("token").distinct()
        changed = None
        for group in self._progress.stored:
            some = sorted(ranges.intersection(group.ranges))
            if not some:
                continue
            stored = self._stored(version, some).join(tokens, "token", "left_semi")
            now = self._visible(stored, version, self._row_second)
            before = self._visible(stored, version, self._row_second, group.from_us - 1)
            found = differing_rows(now, before, len(self._ranges), self._columns)
            changed = found if changed is None else changed.unionByName(found)
        return changed

    @property
    def _row_second(self) -> int:
        """Before all reads of rows, so that the store shows what had not expired at any of them."""
        return min(group.from_us for group in self._progress.stored) // _US

    def _report(
        self, differing: Sequence[int], complete_us: Mapping[int, int], version: int
    ) -> ComparisonReport:
        progress = self._progress
        causes: dict[Cause, int] = {}
        rows: list[DifferingRow] = []
        if differing:
            of_cause = Window.partitionBy("cause")
            ranked = self._session.read.parquet(self._place("differences")).select(
                *("cause", "key", "columns"),
                F.count(F.lit(1)).over(of_cause).alias("rows"),
                F.row_number().over(of_cause.orderBy("token", "ck")).alias("number"),
            )
            with self._described("count the rows that differ"):
                some = ranked.where(F.col("number") <= self._options.report_rows).collect()
            causes = {Cause(row["cause"]): row["rows"] for row in some}
            some.sort(key=lambda row: (SEVERITY[Cause(row["cause"])], row["number"]))
            rows = [DifferingRow(Cause(row["cause"]), row["key"], row["columns"]) for row in some]
        groups = (*progress.read, *progress.stored)
        return ComparisonReport(
            table=self._table.full_name,
            consistency=progress.consistency,
            ranges=progress.ranges,
            differing_ranges=len(differing),
            live_rows=progress.live_rows,
            read_from_us=min(group.from_us for group in groups),
            read_to_us=progress.last_read_us,
            store_version=version,
            complete_until_us=min(complete_us.values(), default=None),
            causes=causes,
            rows=rows,
        )

    def _with_truncations(self, differences: DataFrame) -> DataFrame:
        """The rows with `TRUNCATE_SUSPECTED`, where lost deletions look like one."""
        is_lost = F.col("cause") == Cause.LOST_DELETE
        oldest_us = self._progress.live_oldest_us
        if oldest_us is not None:
            is_lost &= F.col("newest_us") < oldest_us
        (counted,) = differences.where(is_lost).agg(F.count_distinct("token")).collect()
        if not is_truncation(counted[0]):
            return differences
        cause = F.when(is_lost, Cause.TRUNCATE_SUSPECTED.value).otherwise(F.col("cause"))
        return differences.withColumn("cause", cause)

    def _wait(self) -> Mapping[int, int]:
        """Wait until the store is complete up to the last read, at most `wait.seconds`. Returns its
        watermarks in microseconds, by range."""
        deadline_s = time.monotonic() + self._options.wait_s
        while True:
            # Before the store's version is asked for, so that the version has these writes.
            found = self._complete_us()
            needed_us = self._progress.last_read_us
            if min(found.values(), default=0) >= needed_us or time.monotonic() >= deadline_s:
                return found
            time.sleep(_POLL_S)

    def _complete_us(self) -> Mapping[int, int]:
        if self._options.complete_until_ms is not None:
            return dict.fromkeys(range(len(self._ranges)), self._options.complete_until_ms * 1000)
        if self._options.watermarks is None:
            return {}
        folder = Folder(self._session, self._options.watermarks)
        if not folder.exists(WATERMARKS_FILE):
            raise ConfigError(
                f"watermarks: {self._options.watermarks} has no {WATERMARKS_FILE}. Name the "
                "`state` of spark_jobs.watermarks, and run it first."
            )
        consumed = state_from_json(folder.read_text(WATERMARKS_FILE)).consumed
        watermark = consumed.get(self._table.full_name)
        return complete_until_us(self._ranges, () if watermark is None else watermark.ranges)

    def _rows_of(self, group: int) -> str:
        return self._place(f"rows/{group}")

    def _place(self, name: str) -> str:
        return f"{self._options.state.rstrip('/')}/{name}"

    def _described(self, text: str) -> AbstractContextManager[None]:
        return job_description(self._session, f"compare {self._table.full_name}: {text}")


def _replace(path: Path, text: str) -> None:
    unfinished = path.with_name(f".{path.name}.tmp")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
