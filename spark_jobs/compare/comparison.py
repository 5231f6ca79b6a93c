"""Compares digests of the live table and of the store, and then the rows that differ.

The live table is read before the store, so that the store can be complete up to that read. The job
saves its results in `state`. If it is interrupted, or if the store is incomplete, the next run
resumes without reading again.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache, partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sidecar.logs import fields
from spark_jobs.compare.differences import (
    Explainer,
    differing_rows,
    explained,
    findings,
    with_later_writes,
)
from spark_jobs.compare.digests import (
    RangeDigest,
    TokenRange,
    compared_columns,
    range_digests,
    range_of,
    token_ranges,
)
from spark_jobs.compare.live_rows import LiveReader, read_live
from spark_jobs.compare.options import CompareOptions
from spark_jobs.compare.progress import (
    Progress,
    ReadRanges,
    WaitBudget,
    groups_of,
    progress_from_json,
    progress_to_json,
)
from spark_jobs.compare.report import ComparisonReport, Findings
from spark_jobs.compare.row_difference import Cause, ReadTimes, is_truncation
from spark_jobs.compare.target_comparison import TargetComparison
from spark_jobs.errors import CheckpointError
from spark_jobs.progress import OnRead
from spark_jobs.rebuild.table_layout import read_layout
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable
from spark_jobs.reconcile.store.version_store import MERGED, open_existing_store
from spark_jobs.reconcile.visible_rows import merged, merger_of
from spark_jobs.session_conf import job_description
from spark_jobs.storage import Folder
from spark_jobs.tables.options import TargetOptions
from spark_jobs.watermarks import read_watermarks
from spark_jobs.watermarks.table_watermark import RangeWatermark

logger = logging.getLogger(__name__)
PROGRESS_FILE = "comparison.json"
_US = 1_000_000


class Comparison:
    def __init__(
        self,
        session: SparkSession,
        options: CompareOptions,
        schema: SourceSchema,
        table: SourceTable,
        now_us: Callable[[], int],
        on_read: OnRead,
    ) -> None:
        self._session = session
        self._options = options
        self._table = table
        self._now_us = now_us
        self._on_read = on_read
        self._wait_budget = WaitBudget(options.wait_s)
        self._layout = read_layout(schema.schema, table.id)
        self._columns = compared_columns(self._layout)
        self._ranges = token_ranges(options.ranges)
        self._store = open_existing_store(session, options.output, options.buckets)
        self._merger = merger_of(schema, table)
        self._truncated_us = cache(partial(self._store.truncated_us, table.id))
        self._target = self._target_comparison(schema)
        self._folder = Folder(session, options.state)
        self._progress = self._load()
        self._reader = LiveReader(
            options.contact(),
            self._merger,
            schema.schema.to_stored(),
            table.id,
            table.full_name,
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
            unread = len(self._progress.to_store(differing))
            self._on_read("rows of ranges", len(differing) - unread, len(differing))
        complete_us = self._wait()
        version = self._store.version()
        if differing:
            self._explain(differing, complete_us, version)
        report = self._report(differing, complete_us, version)
        if self._target is not None:
            reads = ReadTimes(report.read_from_us, report.read_to_us)
            found = self._target.report(
                version, reads, self._wait_budget, self._options.report_rows
            )
            report = replace(report, target=found)
        self._save(replace(self._progress, is_finished=report.verdict != "not_there_yet"))
        return report

    def _target_comparison(self, schema: SourceSchema) -> TargetComparison | None:
        options = TargetOptions.existing(self._options.format, self._options.target)
        if options is None:
            return None
        return TargetComparison(
            options,
            schema,
            self._table,
            self._store,
            buckets=len(self._ranges),
            place=self._place("typed_differences"),
            describe=self._describe,
        )

    def _load(self) -> Progress:
        """Load the progress of an unfinished comparison with the same settings, or create one."""
        second = self._now_us() // _US + self._options.expiry_margin_s
        ranges, version = len(self._ranges), self._store.version()
        begun = Progress(self._table.id, self._options.consistency, ranges, version, second)
        if not self._folder.exists(PROGRESS_FILE):
            return begun
        try:
            found = progress_from_json(self._folder.read_text(PROGRESS_FILE))
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"{self._options.state}/{PROGRESS_FILE} is not the progress of this job "
                f"({error!r}). Remove it, or set a different `state`."
            ) from error
        if found.table_id != self._table.id:
            raise CheckpointError(
                f"{self._options.state} belongs to a different table. Set a different `state`."
            )
        is_same = (found.consistency, found.ranges) == (begun.consistency, begun.ranges)
        return found if is_same and not found.is_finished else begun

    def _save(self, progress: Progress) -> None:
        self._progress = progress
        self._folder.write_text(PROGRESS_FILE, progress_to_json(progress))

    def _read_digests(self, group: Sequence[int]) -> None:
        from_us = self._now_us()
        with self._describe(f"read {len(group)} token ranges"):
            found = range_digests(self._live(group, self._reader), len(self._ranges), self._columns)
        self._save(
            self._progress.with_digests(ReadRanges(tuple(group), from_us, self._now_us()), found)
        )
        done = len(self._ranges) - len(self._progress.unread())
        self._on_read("token ranges", done, len(self._ranges))
        logger.info("token ranges read", extra=fields(read=done, ranges=len(self._ranges)))

    def _read_rows(self, group: Sequence[int]) -> None:
        """Store the live rows of ranges, including values that expire soon."""
        from_us = self._now_us()
        rows = self._live(group, replace(self._reader, now_s=0))
        with self._describe(f"read the rows of {len(group)} token ranges that differ"):
            self._write(rows, f"rows/{len(self._progress.stored)}")
        self._save(self._progress.with_rows(ReadRanges(tuple(group), from_us, self._now_us())))
        logger.info("rows of token ranges read", extra=fields(ranges=len(group)))

    def _live(self, group: Sequence[int], reader: LiveReader) -> DataFrame:
        ranges = [self._ranges[number] for number in group]
        return read_live(self._session, reader, ranges, self._options.tasks)

    def _store_digests(self) -> dict[int, RangeDigest]:
        version = self._store.version()
        stored = self._store.rows(self._table.id, version).select(*MERGED)
        rows = self._visible(stored, version, self._progress.second)
        with self._describe("digests of the store"):
            return range_digests(rows, len(self._ranges), self._columns)

    def _stored(self, version: int, ranges: Sequence[int]) -> DataFrame:
        """The unmerged rows of ranges: the rows of the first version, and rows added up to
        `version`. They include values that later writes replaced and compaction has dropped."""
        before = self._progress.store_version
        stored = self._store.rows(self._table.id, before).select(*MERGED)
        if version > before:
            added = self._store.added(self._table.id, before, version)
            stored = stored.unionByName(added.select(*MERGED))
        return stored.where(range_of(F.col("token"), len(self._ranges)).isin(*ranges))

    def _visible(
        self, stored: DataFrame, version: int, second: int, until_us: int | None = None
    ) -> DataFrame:
        """The rows that `stored` shows at a second, with writes up to `until_us`."""
        merge = partial(
            self._merger.rows,
            now_s=second,
            truncated_us=self._truncated_us(version),
            until_us=until_us,
        )
        return merged(stored, merge, self._merger.rows_schema)

    def _explain(
        self, differing: Sequence[int], complete_us: Mapping[int, int], version: int
    ) -> None:
        """Store each differing row with its cause."""
        groups = self._progress.stored
        live = self._read(*(f"rows/{at}" for at in range(len(groups))))
        live = live.where(range_of(F.col("token"), len(self._ranges)).isin(*differing))
        times = {
            number: self._options.widened(
                ReadTimes(group.from_us, group.to_us, complete_us.get(number))
            )
            for group in groups
            for number in group.ranges
        }
        store = self._visible(self._stored(version, differing), version, self._row_second)
        rows = differing_rows(live, store, len(self._ranges), self._columns)
        explainer = Explainer(self._layout, self._columns, times)
        with self._describe(f"compare the rows of {len(differing)} token ranges"):
            self._write(explained(rows, explainer), "found")
        found = self._read("found")
        with self._describe("find later writes and truncations"):
            final = self._with_truncations(self._with_later_writes(found, version))
            self._write(final, "differences")

    def _with_later_writes(self, found: DataFrame, version: int) -> DataFrame:
        """Mark the losses that are explained by writes after the read."""
        lost = found.where(F.col("cause") == Cause.LOSS)
        changed = self._changed_since(lost, version)
        if changed is None:
            return found
        self._write(with_later_writes(found, changed), "settled")
        return self._read("settled")

    def _changed_since(self, lost: DataFrame, version: int) -> DataFrame | None:
        """The rows that writes after the read changed in the store, in partitions with losses."""
        ranges = {row["range"] for row in lost.select("range").distinct().collect()}
        tokens = lost.select("token").distinct()
        changed = None
        for group in self._progress.stored:
            some = sorted(ranges.intersection(group.ranges))
            if not some:
                continue
            stored = self._stored(version, some).join(tokens, "token", "left_semi")
            now = self._visible(stored, version, self._row_second)
            from_us = self._options.widened(ReadTimes(group.from_us, group.to_us)).from_us
            before = self._visible(stored, version, self._row_second, from_us - 1)
            found = differing_rows(now, before, len(self._ranges), self._columns)
            changed = found if changed is None else changed.unionByName(found)
        return changed

    @property
    def _row_second(self) -> int:
        """The second before all reads of rows, so that the store shows all values live by then."""
        return min(group.from_us for group in self._progress.stored) // _US

    def _report(
        self, differing: Sequence[int], complete_us: Mapping[int, int], version: int
    ) -> ComparisonReport:
        progress, found = self._progress, Findings()
        if differing:
            with self._describe("count the rows that differ"):
                found = findings(self._read("differences"), Cause, self._options.report_rows)
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
            found=found,
        )

    def _with_truncations(self, differences: DataFrame) -> DataFrame:
        """Change lost deletions to `TRUNCATE_SUSPECTED` if they look like a truncation."""
        is_lost = F.col("cause") == Cause.LOST_DELETE
        oldest_us = self._progress.live_oldest_us
        if oldest_us is not None:
            is_lost &= F.col("newest_us") < oldest_us
        elif self._progress.live_rows:
            # Rows without write times, such as counters, have no known order.
            return differences
        (counted,) = differences.where(is_lost).agg(F.count_distinct("token")).collect()
        if not is_truncation(counted[0]):
            return differences
        cause = F.when(is_lost, Cause.TRUNCATE_SUSPECTED.value).otherwise(F.col("cause"))
        return differences.withColumn("cause", cause)

    def _wait(self) -> Mapping[int, int]:
        """Wait until the store is complete up to the last read, or until the budget is used up.
        Returns its watermarks in microseconds, by range."""
        needed_us = self._options.widened(ReadTimes(0, self._progress.last_read_us)).to_us
        # Callers read the store's version afterwards, so that it contains these writes.
        return self._wait_budget.until(
            self._complete_us, lambda found: min(found.values(), default=0) >= needed_us
        )

    def _complete_us(self) -> Mapping[int, int]:
        if self._options.complete_until_ms is not None:
            return dict.fromkeys(range(len(self._ranges)), self._options.complete_until_ms * 1000)
        if self._options.watermarks is None:
            return {}
        consumed = read_watermarks(self._session, self._options.watermarks).consumed
        watermark = consumed.get(self._table.full_name)
        return complete_until_us(self._ranges, () if watermark is None else watermark.ranges)

    def _write(self, rows: DataFrame, name: str) -> None:
        rows.write.mode("overwrite").parquet(self._place(name))

    def _read(self, *names: str) -> DataFrame:
        return self._session.read.parquet(*map(self._place, names))

    def _place(self, name: str) -> str:
        return f"{self._options.state.rstrip('/')}/{name}"

    def _describe(self, text: str) -> AbstractContextManager[None]:
        return job_description(self._session, f"compare {self._table.full_name}: {text}")


def complete_until_us(
    ranges: Iterable[TokenRange], watermarks: Iterable[RangeWatermark]
) -> Mapping[int, int]:
    """The smallest watermark that overlaps each range, by range number. A range without a watermark
    has no entry."""
    known = list(watermarks)
    found = {}
    for each in ranges:
        ends_ms = [one.until_ms for one in known if one.after < each.to and each.after < one.to]
        if ends_ms:
            found[each.number] = min(ends_ms) * 1000
    return found
