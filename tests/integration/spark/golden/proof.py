"""One run: write, break, settle, run Spark, and compare."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from pyspark.sql import SparkSession

from tests.integration.spark.golden.bad_deploy import BadDeploy
from tests.integration.spark.golden.cluster_harness import ClusterHarness
from tests.integration.spark.golden.events import (
    distinct_cells,
    events_by_log_count,
    published,
    wrong_deduped_cells,
    wrong_ids,
    wrong_records,
    wrong_rows,
)
from tests.integration.spark.golden.jobs import FollowJobs, Jobs
from tests.integration.spark.golden.logged_events import read_logs
from tests.integration.spark.golden.moments import Moments
from tests.integration.spark.golden.selected import captured_tables, select_tables
from tests.integration.spark.golden.tables import cell_count
from tests.integration.spark.golden.workload import (
    COUNTERS,
    EXPIRING,
    TRUNCATED,
    TTL_S,
    Form,
    followed_tables,
    workload,
)
from tests.support.record.folder import user_schema
from tests.support.servers.processes import wait_until

Say = Callable[[str], None]
_MAX_SHOWN = 10
_AWAY = 2
"""Node that is stopped for a while."""
_KILLED = 1
"""Node whose agent is killed."""
WRITTEN, UNANSWERED = "statements written", "not answered in time"
LOGGED, RECORDS = "events in the logs of all nodes", "records in the topics"
EVENTS, EVENTS_BY_CELL = "distinct events, from dedupe", "events from dedupe by cells"
EARLY_EVENTS = "of these while a node and an agent were down"
ROWS = "rows"
"""Names of figures."""


@dataclass(frozen=True, slots=True)
class Report:
    """The results of a comparison; `problems` is empty on success."""

    seed: int
    seconds: Mapping[str, float]
    """Duration of each step."""
    figures: Mapping[str, int]
    """Written and compared amounts, by their name in the summary."""
    unanswered: Mapping[str, int]
    in_logs: Mapping[int, int]
    """Distinct events by the number of logs that contain them."""
    problems: tuple[str, ...]

    def require_none(self) -> None:
        """Raise AssertionError with the first problems."""
        shown = "\n".join(line[:2000] for line in self.problems[:_MAX_SHOWN])
        assert not self.problems, f"seed {self.seed}, {len(self.problems)} problems\n{shown}"


@dataclass(slots=True)
class Steps:
    """The steps of a run and their durations."""

    say: Say
    seconds: dict[str, float] = field(default_factory=dict)
    _since_s: float = field(default_factory=time.monotonic)
    _name: str = "start"

    def next(self, name: str) -> None:
        now_s = time.monotonic()
        self.seconds[self._name] = self.seconds.get(self._name, 0) + now_s - self._since_s
        self._name, self._since_s = name, now_s
        if name:
            self.say(name)


def prove(
    cluster: ClusterHarness,
    spark: SparkSession,
    seed: int,
    form: Form,
    say: Say,
    upgrade_to: str | None = None,
) -> Report:
    """Run the whole test on a new cluster, optionally with an upgrade during the writes."""
    steps = Steps(say)
    work = workload(seed, form, writes_oa=upgrade_to is not None)
    jobs = Jobs(
        spark,
        cluster.directory,
        cluster.broker.bootstrap,
        micro_batch=form.micro_batch,
        counter_tables=COUNTERS,
    )
    following = FollowJobs(spark, cluster.directory, jobs.store_settings, cluster.broker.bootstrap)
    moments = Moments(cluster, jobs, following, say)
    deploy = BadDeploy(cluster, spark, Random(f"deploy {seed}"))
    together, alone, without, *upgrading = work.parts(3 if upgrade_to is None else 4)
    steps.next("making the tables")
    cluster.create(work.schema)
    followed = followed_tables(form)

    def moment(name: str) -> None:
        steps.next(f"moment {name}")
        moments.take(name, followed)

    steps.next("writing")
    cluster.write(together)
    if form.has_moments:
        deploy.write_before()
        moment("before the faults")
    steps.next("killing an agent")
    cluster.kill_agent(_KILLED, alone[: len(alone) // 2])
    cluster.write(alone[len(alone) // 2 :])
    steps.next("stopping a node")
    cluster.nodes[_AWAY].stop()
    cluster.write(without)
    if form.has_moments:
        deploy.write()
    cluster.write_final_hints()
    steps.next("first run of dedupe")
    jobs.schema.write_text(user_schema(cluster.nodes[0]), encoding="utf-8")
    jobs.dedupe()
    early = len(jobs.events())
    if form.has_moments:
        moment("without a node and an agent")
    steps.next("starting node and agent")
    cluster.agents[_KILLED].start()
    cluster.nodes[_AWAY].start()
    if upgrade_to is not None:
        steps.next(f"upgrading all nodes to {upgrade_to}")
        cluster.upgrade(upgrade_to, upgrading[0])
    steps.next("changing a table and writing on")
    cluster.execute(work.changes)
    cluster.write(work.writes_after)
    expired_s = 0.0
    if form.has_moments:
        cluster.write(work.expiring)
        expired_s = time.time() + TTL_S + 1
        moment("after schema changes")
        moments.require_rows(EXPIRING)
    steps.next("changing tables again and truncating one")
    cluster.execute((*work.later_changes, f"TRUNCATE {TRUNCATED}"))
    jobs.truncate(TRUNCATED, time.time_ns() // 1000)
    cluster.write(work.later_writes)
    if form.has_moments:
        wait_until(lambda: time.time() > expired_s, "values to expire", deadline_s=2 * TTL_S)
        moment("after TRUNCATE and expiry")
        steps.next("undoing the deploy")
        deploy.undo(jobs.store_settings)
    steps.next("waiting for hints, ends and agents")
    cluster.settle()
    steps.next("selecting")
    jobs.schema.write_text(user_schema(cluster.nodes[0]), encoding="utf-8")
    now_s = int(time.time())
    selected = select_tables(cluster.nodes[0], captured_tables(cluster.nodes[0]))
    steps.next("reading the logs with Cassandra's reader")
    logs = read_logs(cluster, jobs.schema)
    records = [published(record) for record in cluster.records()]
    steps.next("dedupe")
    jobs.dedupe()
    steps.next("dedupe by cells")
    jobs.dedupe("cell")
    steps.next("reconcile")
    jobs.reconcile()
    steps.next("comparing events")
    kept, kept_by_cell = jobs.events(), jobs.events("cell")
    problems = [
        *wrong_records(records, logs),
        *wrong_ids(records, logs),
        *wrong_rows(kept, records, logs),
        *wrong_deduped_cells(kept_by_cell, records),
        *(
            f"{path} is in quarantine"
            for agent in cluster.agents
            for path in agent.quarantine.glob("*")
        ),
    ]
    steps.next("comparing tables")
    problems += jobs.wrong_tables(selected, now_s)
    if form.has_moments:
        steps.next("last moment")
        at_end = [each for each in selected if form.whole or each.name in followed]
        moments.follow("at the end", now_s, at_end)
        steps.next("reading all moments again")
        moments.compare_history()
        steps.next("rebuilding from segments")
        deploy.compare_segments(str(jobs.schema))
    problems += moments.problems + deploy.problems
    steps.next("")
    rows = [row for each in selected for row in each.rows]
    figures = {
        WRITTEN: cluster.counts.written,
        "rejected, because a list lacks the index": cluster.counts.rejected,
        UNANSWERED: cluster.counts.unanswered.total(),
        LOGGED: len(logs),
        RECORDS: len(records),
        EVENTS: len(kept),
        EARLY_EVENTS: early,
        "distinct cells and deletions in all events": len(distinct_cells(records)),
        EVENTS_BY_CELL: len(kept_by_cell),
        "tables": len(selected),
        ROWS: len(rows),
        "cells and elements": sum(map(cell_count, selected)),
        "moments": len(moments.taken),
        "changes": moments.changes(),
        "statements that undid the deploy": deploy.statements,
        "problems": len(problems),
    }
    unanswered, in_logs = cluster.counts.unanswered, Counter(events_by_log_count(logs))
    return Report(seed, steps.seconds, figures, unanswered, in_logs, tuple(problems))
