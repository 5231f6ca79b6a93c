"""One round: tables, writes, faults, and the comparison of everything that arrived."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import cycle

import commitlog
from tests.acceptance.kill import checks
from tests.acceptance.kill.agent import WINDOW_EVENTS
from tests.acceptance.kill.arrivals import take_in
from tests.acceptance.kill.faults import Fault, strike
from tests.acceptance.kill.stage import Counts, Stage
from tests.oracle.merge.comparison import compare
from tests.oracle.merge.writes import SHORT_TTL_S, random_writes
from tests.support.servers.processes import wait_until
from tests.support.workloads import random_tables, schema_statements

_DIFFERENT_WRITES = 20_000
_DEADLINE_S = 600.0
_MAX_SHOWN = 10
# Progress stands between mutations, so the one that is half acknowledged is repeated too.
_MUTATION_EVENTS = 20
_LAST = "last_write"

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Report:
    """What one round saw; `problems` is empty when all is well."""

    seed: int
    seconds: float
    counts: Counts
    events: int
    repeats: int
    largest_repeat: int
    """By one killed agent."""
    largest_window: int
    """The same for agents that save their progress after each acknowledgement."""
    tables: int
    rows: int
    problems: tuple[str, ...]

    def require_none(self) -> None:
        """Raises AssertionError with the first problems."""
        shown = "\n".join(self.problems[:_MAX_SHOWN])
        assert not self.problems, f"seed {self.seed}, {len(self.problems)} problems\n{shown}"


def run_round(stage: Stage, seed: int, keyspace: str, plan: Iterable[Fault], say: Say) -> Report:
    """Makes ten tables, writes and strikes, drains and compares."""
    started_s = time.monotonic()
    before, first_life = replace(stage.counts), len(stage.agent.lives) - 1
    tables = random_tables(seed, keyspace=keyspace, release=stage.release)
    for statement in schema_statements(tables):
        stage.node.execute(statement)
    stage.node.execute(f"CREATE TABLE {keyspace}.{_LAST} (id int PRIMARY KEY) WITH cdc = true")
    topics = [f"kill.{table.full_name}" for table in tables] + [f"kill.{keyspace}.{_LAST}"]
    writes = random_writes(seed, _DIFFERENT_WRITES, keyspace=keyspace, release=stage.release)
    stage.use(cycle(writes), topics)

    for fault in plan:
        say(f"writing until {fault.after_records} more records arrive")
        _write_until_arrived(stage, stage.arrived() + fault.after_records)
        say(fault.name)
        strike(stage, fault)
    say("draining")
    _drain(stage, keyspace)
    say("comparing")
    arrivals, merged = take_in(stage.broker.consume_all(*topics))
    schema = commitlog.Schema.from_cql(stage.node.describe_schema())
    compared = compare(stage.node.session(), merged, [keyspace])
    lives = stage.agent.lives
    risked = checks.at_risk(arrivals, lives)
    problems = [
        *compared.differences,
        *checks.differing_ids(arrivals),
        *checks.misplaced(arrivals),
        *checks.out_of_order(arrivals, lives),
        *checks.repeats_of_stored(arrivals, lives),
        *checks.beyond_window(risked, lives, WINDOW_EVENTS + _MUTATION_EVENTS),
        *checks.behind_the_chain(arrivals, stage.chain_ends),
        *checks.incomplete(arrivals, stage.events_in_segments(schema, keyspace)),
        *(f"{path.name} is in quarantine" for path in stage.agent.quarantine.glob("*")),
    ]
    events = len({arrival.source for arrival in arrivals})
    ended = [life for life in lives[first_life:] if life.end != "running"]
    return Report(
        seed=seed,
        seconds=time.monotonic() - started_s,
        counts=stage.counts.since(before),
        events=events,
        repeats=len(arrivals) - events,
        largest_repeat=max((risked[life.number] for life in ended), default=0),
        largest_window=max(
            (risked[life.number] for life in ended if life.flush_interval_ms == 0), default=0
        ),
        tables=compared.tables,
        rows=compared.rows,
        problems=tuple(problems),
    )


def _write_until_arrived(stage: Stage, records: int) -> None:
    """Writes on; when far ahead of what arrives, waits for it."""
    most = stage.counts.written + 2 * (records - stage.arrived()) + 2000
    while stage.arrived() < records:
        stage.agent.require_running()
        if stage.counts.written > most:
            wait_until(
                lambda: stage.arrived() >= records,
                f"{records} records\n{stage.agent.log_tail()}",
                deadline_s=_DEADLINE_S,
            )
        stage.write(stage.random.randrange(1, 100))


def _drain(stage: Stage, keyspace: str) -> None:
    """A last write, and everything up to it delivered and stored."""
    last = f"kill.{keyspace}.{_LAST}"
    stage.node.execute(f"INSERT INTO {keyspace}.{_LAST} (id) VALUES (1)")
    written_s = time.time()
    wait_until(
        lambda: bool(stage.broker.consume_all(last)),
        f"the last write\n{stage.agent.log_tail()}",
        deadline_s=_DEADLINE_S,
    )
    stage.agent.wait_until_drained(_DEADLINE_S)
    wait_until(lambda: time.time() > written_s + SHORT_TTL_S + 1, "short TTLs to end")
