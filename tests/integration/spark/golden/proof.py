"""One run: write, break, settle, let Spark work, and compare."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from tests.integration.spark.golden.events import (
    distinct_cells,
    logs_of_each,
    published,
    wrong_cells_kept,
    wrong_ids,
    wrong_records,
    wrong_rows,
)
from tests.integration.spark.golden.jobs import Jobs
from tests.integration.spark.golden.logs import read_logs
from tests.integration.spark.golden.selected import captured_tables, select_tables
from tests.integration.spark.golden.stage import Stage
from tests.integration.spark.golden.tables import cell_count
from tests.integration.spark.golden.workload import COUNTERS, Form, workload
from tests.support.record.folder import user_schema

Say = Callable[[str], None]
_MAX_SHOWN = 10
_AWAY = 2
"""The node that goes for a while."""
_KILLED = 1
"""Whose agent is killed."""


@dataclass(frozen=True, slots=True)
class Report:
    """What was compared; `problems` is empty when all is well."""

    seed: int
    seconds: Mapping[str, float]
    """Of each step."""
    written: int
    refused: int
    unanswered: Mapping[str, int]
    records: int
    """In the topics."""
    logged: int
    """Events in the logs of all nodes."""
    events: int
    """Distinct canonical ones, which is what dedupe gives."""
    in_logs: Mapping[int, int]
    """Of these, by the number of logs that have them."""
    cells_written: int
    """Distinct ones in all events, deletions and livenesses among them."""
    events_by_cell: int
    """What dedupe gives that knows copies by their cells."""
    early_events: int
    """Those that dedupe had given while a node and an agent were away."""
    tables: int
    rows: int
    cells: int
    problems: tuple[str, ...]

    def require_none(self) -> None:
        """Raises AssertionError with the first problems."""
        shown = "\n".join(line[:2000] for line in self.problems[:_MAX_SHOWN])
        assert not self.problems, f"seed {self.seed}, {len(self.problems)} problems\n{shown}"


@dataclass(slots=True)
class Steps:
    """What is done, and how long each took."""

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
    stage: Stage, spark: SparkSession, seed: int, form: Form, say: Say, layout: str = "append"
) -> Report:
    """The whole run on a stage that has just been started."""
    steps = Steps(say)
    work = workload(seed, form)
    jobs = Jobs(
        spark,
        stage.directory,
        stage.broker.bootstrap,
        layout=layout,
        micro_batch=form.micro_batch,
        counter_tables=COUNTERS,
    )
    together, alone, without = work.parts(3)
    steps.next("making the tables")
    stage.make(work.schema)
    steps.next("writing")
    stage.write(together)
    steps.next("killing an agent")
    stage.kill_agent(_KILLED, alone[: len(alone) // 2])
    stage.write(alone[len(alone) // 2 :])
    steps.next("stopping a node")
    stage.nodes[_AWAY].stop()
    stage.write(without)
    stage.write_last_hints()
    steps.next("first run of the jobs")
    jobs.schema.write_text(user_schema(stage.nodes[0]), encoding="utf-8")
    jobs.dedupe()
    early = len(jobs.events())
    if form.whole:
        jobs.reconcile()
    steps.next("starting node and agent")
    stage.agents[_KILLED].start()
    stage.nodes[_AWAY].start()
    steps.next("changing a table and writing on")
    stage.execute(work.changes)
    stage.write(work.writes_after)
    jobs.schema.write_text(user_schema(stage.nodes[0]), encoding="utf-8")
    steps.next("waiting for hints, ends and agents")
    stage.settle()
    steps.next("selecting")
    now_s = int(time.time())
    selected = select_tables(stage.nodes[0], captured_tables(stage.nodes[0]))
    steps.next("reading the logs with Cassandra's reader")
    logs = read_logs(stage, jobs.schema)
    records = [published(record) for record in stage.records()]
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
        *wrong_cells_kept(kept_by_cell, records),
        *(
            f"{path} is in quarantine"
            for agent in stage.agents
            for path in agent.quarantine.glob("*")
        ),
    ]
    steps.next("comparing tables")
    problems += jobs.wrong_tables(selected, now_s)
    steps.next("")
    return Report(
        seed=seed,
        seconds=steps.seconds,
        written=stage.counts.written,
        refused=stage.counts.refused,
        unanswered=stage.counts.unanswered,
        records=len(records),
        logged=len(logs),
        events=len(kept),
        in_logs=Counter(logs_of_each(logs)),
        cells_written=len(distinct_cells(records)),
        events_by_cell=len(kept_by_cell),
        early_events=early,
        tables=len(selected),
        rows=sum(len(each.rows) for each in selected),
        cells=sum(map(cell_count, selected)),
        problems=tuple(problems),
    )
