"""Follows source tables in a version store, and passes their changes to a handler."""

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from sidecar.logs import fields
from spark_jobs.errors import JobError, mapped_error, reason_text
from spark_jobs.follow.changes_between import changes_between, no_changes, planned_changes
from spark_jobs.follow.delta_tables import DeadLetters, ExpiryIndex
from spark_jobs.follow.handler import ChangeHandler
from spark_jobs.follow.known_schemas import KnownSchemas
from spark_jobs.follow.plan import Position, plan_read
from spark_jobs.follow.stats import OPS, TableStats, aggregates
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable
from spark_jobs.reconcile.store import Commit, VersionStore
from spark_jobs.reconcile.store.commits import largest_offsets
from spark_jobs.session_conf import job_description, session_conf, small_batch_conf
from spark_jobs.storage import Folder

logger = logging.getLogger(__name__)
IDLE_S = 60
"""The interval in seconds at which positions of tables without changes are stored."""
_IDLE_SHARE = 0.1
"""Maximum share of the time that storing these positions may take."""
_STORAGE = StorageLevel.DISK_ONLY
"""Where changes are cached. A first fill contains all rows of a table, which in memory would leave
too little for the tasks that write them."""


class Follower:
    """Passes the changes of tables to a handler, starting from each table's position.

    A job calls `step` about once a second, or at each interval of its trigger
    (`spark_jobs.follow.job`). The folder contains the expiry index, the known schemas and the dead
    letters. Each follower needs a separate folder.
    """

    def __init__(
        self,
        store: VersionStore,
        schema: SourceSchema,
        tables: Sequence[SourceTable],
        folder: str,
        handler: ChangeHandler,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Finish interrupted batches, and read the positions of the tables from the handler.

        Raises `JobError` if the store's log no longer reaches back to a position, and the first
        table's error if no table can be followed.
        """
        self._store = store
        self._schema = schema
        self._handler = handler
        self._clock = clock
        self._dead_letters = DeadLetters(store.session, f"{folder.rstrip('/')}/dead-letters")
        self._expiries = ExpiryIndex(store.session, f"{folder.rstrip('/')}/expiries")
        self._version = store.version()
        self._applied = {table.id: TableStats() for table in tables}
        self._known = KnownSchemas(Folder(store.session, folder), schema)
        self._rejected: dict[str, Exception] = {}
        self._failed: dict[str, Exception] = {}
        self._positions: dict[str, Position | None] = {}
        self._tables = tables = [table for table in tables if self._is_accepted(table)]
        if self._rejected and not tables:
            raise next(iter(self._rejected.values()))
        self._stored = dict(self._positions)
        self._next_idle_s = 0.0
        self._earlier = {
            table.id: earlier
            for table in tables
            if (position := self._positions[table.id]) is not None
            and (earlier := self._known.earlier(table, position)) is not None
        }
        self._due_s = {
            table_id: self._expiries.next_due_s(table_id, position.second)
            for table_id, position in self._positions.items()
            if position is not None
        }
        self._truncated_us = store.truncated_tables(self._version)
        self._commits = self._commits_since_positions()
        known = [commit.offsets for commit in self._commits]
        self._offsets = largest_offsets([*known, store.recent_offsets(self._version)])

    @property
    def stats(self) -> Mapping[str, TableStats]:
        """The statistics of applied changes, by `keyspace.table`."""
        return {
            table.full_name: replace(self._applied[table.id], position=self._positions[table.id])
            for table in self._tables
        }

    def step(self) -> int:
        """Apply all changes up to now. Returns the number of tables with changes.

        The next step retries a table that failed. Raises an error if all tables failed.
        """
        new = list(self._store.commits_after(self._version))
        if new:
            self._version = new[-1].version
            self._commits += new
            if any(commit.kind == "truncate" for commit in new):
                self._truncated_us = self._store.truncated_tables(self._version)
            self._offsets = largest_offsets([self._offsets, *(commit.offsets for commit in new)])
        applied = sum(map(self._follow_isolated, self._tables))
        if self._tables and len(self._failed) == len(self._tables):
            raise next(iter(self._failed.values()))
        self._store_idle_positions()
        self._forget_commits()
        return applied

    @property
    def rejected(self) -> Mapping[str, BaseException]:
        """The tables that cannot be followed, with the reasons."""
        failed = {**self._rejected, **self._failed}
        return {name: mapped_error(error) for name, error in failed.items()}

    def _follow_isolated(self, table: SourceTable) -> bool:
        """Follow a table. An error does not affect other tables."""
        try:
            if table.full_name in self._failed:
                self._reopen(table)
            is_applied = self._follow(table)
        except MemoryError:
            raise
        except Exception as error:
            if table.full_name not in self._failed:
                name, reason = table.full_name, reason_text(error)
                logger.error("table %s is not followed: %s", name, reason, extra=fields(table=name))
            logger.debug("stack trace of the error", exc_info=error)
            self._failed[table.full_name] = error
            return False
        if self._failed.pop(table.full_name, None) is not None:
            logger.info("table followed again", extra=fields(table=table.full_name))
        return is_applied

    def _reopen(self, table: SourceTable) -> None:
        """Recover as after a restart: the target may contain a part of the failed batch."""
        self._finish_interrupted(table)
        position = self._handler.position(table)
        if position != self._stored[table.id]:
            self._positions[table.id] = self._stored[table.id] = position

    def _is_accepted(self, table: SourceTable) -> bool:
        """Finish the interrupted batch of a table and read its position, unless it is rejected."""
        try:
            self._finish_interrupted(table)
            self._positions[table.id] = self._handler.position(table)
        except Exception as error:
            self._rejected[table.full_name] = error
            logger.debug("stack trace of the error", exc_info=error)
            name, reason = table.full_name, reason_text(error)
            logger.error("table %s rejected: %s", name, reason, extra=fields(table=name))
            return False
        return True

    def _finish_interrupted(self, table: SourceTable) -> None:
        """Read an interrupted batch again, with its original schemas, and finish it."""
        batch = self._handler.interrupted(table)
        if batch is None:
            return
        schema, earlier = self._known.of_batch(table, batch.before)
        (described,) = (each for each in schema.tables if each.id == table.id)
        changes = changes_between(
            *(self._store, schema, described, batch.before, batch.after),
            each=self._handler.each,
            expiries=self._expiries,
            earlier_schema=earlier,
        )
        began_s = self._clock()
        cached = changes.persist(_STORAGE)
        description = f"follow: {table.full_name}, finish the interrupted batch"
        try:
            with job_description(self._store.session, description):
                (row,) = cached.agg(*aggregates()).collect()
                visible = cached.where(F.col("op").isNotNull())
                self._handler.finish(table, visible, {op: row[name] for op, name in OPS.items()})
        finally:
            cached.unpersist()
        self._count(table, row, batch.after, began_s)

    def _follow(self, table: SourceTable) -> bool:
        before = self._positions[table.id]
        second = int(self._clock())
        after = Position(self._version, second if before is None else max(second, before.second))
        due_s = self._due_s.get(table.id)
        has_due = due_s is not None and due_s <= after.second
        if table.id in self._earlier and before is not None:
            # The later second tells a restart that the target already contains the comparison.
            self._compare(table, before, Position(self._version, max(second, before.second + 1)))
            return True
        plan = plan_read(table.id, before, after, self._commits, has_due=has_due)
        if plan is None:
            self._positions[table.id] = after
            return False
        changes = planned_changes(
            plan,
            *(self._store, self._schema, table, before, after),
            each=self._handler.each,
            truncated_us=self._truncated_us.get(table.id),
            expiries=self._expiries if has_due else None,
        )
        self._apply(table, changes, before, after, has_due=has_due, touched=plan.touched_rows)
        return True

    def _compare(self, table: SourceTable, before: Position | None, after: Position) -> None:
        """Compare all rows of a table whose schema changed, and apply the changes."""
        changes = changes_between(
            *(self._store, self._schema, table, before, after),
            each=False,
            earlier_schema=self._earlier[table.id],
        )
        self._apply(table, changes, before, after, has_due=True)
        self._known.followed(table)
        del self._earlier[table.id]

    def _apply(
        self,
        table: SourceTable,
        changes: DataFrame,
        before: Position | None,
        after: Position,
        *,
        has_due: bool,
        touched: float = math.inf,
    ) -> None:
        began_s = self._clock()
        session, what = self._store.session, f"follow: {table.full_name}"
        settings = small_batch_conf(session, touched)
        with session_conf(session, settings):
            cached = changes.persist(_STORAGE)
        try:
            description = f"{what}, read changes up to {after}"
            with session_conf(session, settings), job_description(session, description):
                next_s = F.min("next_expiry_s").alias("next")
                (row,) = cached.agg(next_s, *aggregates()).collect()
            # Before the target stores the position: a crash in between only duplicates entries.
            if row["next"] is not None:
                with job_description(session, f"{what}, add to the expiry index"):
                    self._expiries.add(table.id, cached)
            if row["rejected"]:
                with job_description(session, f"{what}, add to the dead letters"):
                    self._dead_letters.add(table, cached, after)
            visible = cached.where(F.col("op").isNotNull())
            if before is None:
                # Before the first fill begins: a crash may interrupt it.
                self._known.followed(table)
            with job_description(session, f"{what}, apply changes up to {after}"):
                counts = {op: row[name] for op, name in OPS.items()}
                self._handler.apply(table, visible, counts, before, after, self._offsets)
        finally:
            cached.unpersist()
        self._positions[table.id] = self._stored[table.id] = after
        if has_due:
            self._expiries.forget(table.id, after.second)
            self._due_s[table.id] = self._expiries.next_due_s(table.id, after.second)
        elif row["next"] is not None:
            known = self._due_s.get(table.id)
            self._due_s[table.id] = row["next"] if known is None else min(known, row["next"])
        if before is not None or self._handler.has_snapshot:
            self._count(table, row, after, began_s)

    def _count(self, table: SourceTable, batch: Row, after: Position, began_s: float) -> None:
        duration_s = max(0.0, self._clock() - began_s)
        stats = self._applied[table.id].plus(batch, duration_s)
        self._applied[table.id] = stats
        logger.info(
            "table followed",
            extra=fields(
                table=table.full_name,
                version=after.store_version,
                second=after.second,
                created=batch["created"],
                updated=batch["updated"],
                deleted=batch["deleted"],
                duration_ms=round(duration_s * 1000),
            ),
        )

    def _store_idle_positions(self) -> None:
        """Store the positions of tables without changes in their targets.

        Watermarks depend on them, and they shorten the log that a restart reads. Each costs a
        commit, so they are stored once a minute, and less often if that would take more than a
        tenth of the time."""
        begun_s = self._clock()
        if begun_s < self._next_idle_s:
            return
        for table in self._tables:
            if table.full_name in self._failed:
                continue
            position, stored = self._positions[table.id], self._stored[table.id]
            if position is None or stored is None or position.store_version == stored.store_version:
                continue
            nothing = no_changes(self._store, self._schema, table)
            what = f"follow: store position of {table.full_name}"
            with job_description(self._store.session, what):
                counts = dict.fromkeys(OPS, 0)
                self._handler.apply(table, nothing, counts, stored, position, self._offsets)
            self._stored[table.id] = position
        duration_s = self._clock() - begun_s
        self._next_idle_s = begun_s + max(IDLE_S, duration_s / _IDLE_SHARE)

    def _commits_since_positions(self) -> list[Commit]:
        """The commits after the earliest position. New tables do not need commits."""
        known = [each.store_version for each in self._positions.values() if each is not None]
        first = min(known, default=self._version)
        commits = list(self._store.commits_after(first))
        if first > self._version or (first < self._version and not commits):
            raise JobError(
                f"The store {self._store.path} has versions up to {self._version}, but no log "
                f"after version {first}, the position of a target. Refill the target."
            )
        return [commit for commit in commits if commit.version <= self._version]

    def _forget_commits(self) -> None:
        """Drop the commits that every table has passed."""
        known = [each.store_version for each in self._positions.values() if each is not None]
        passed = min(known, default=-1)
        self._commits = [commit for commit in self._commits if commit.version > passed]
