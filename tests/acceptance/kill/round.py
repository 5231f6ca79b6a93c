"""One round: tables, writes, faults, and the comparison of all arrivals."""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import cycle

import commitlog
from tests.acceptance.kill import checks
from tests.acceptance.kill.agent import WINDOW_EVENTS
from tests.acceptance.kill.arrivals import take_in
from tests.acceptance.kill.faults import Fault, strike
from tests.acceptance.kill.harness import ClusterHarness
from tests.oracle.merge.comparison import compare
from tests.oracle.merge.writes import SHORT_TTL_S, random_writes
from tests.support.servers.processes import wait_until
from tests.support.workloads import random_tables, schema_statements

_DIFFERENT_WRITES = 20_000
_MAX_SHOWN = 10
# Offsets lie between mutations, so a half-acknowledged mutation is repeated, too.
_MUTATION_EVENTS = 20
_LAST = "last_write"


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one round; `problems` is empty if it passed."""

    seed: int
    seconds: float
    counts: Counter[str]
    events: int
    repeats: int
    largest_repeat: int
    """Largest repeat of one killed agent."""
    largest_window: int
    """The same for agents that store their offset after each acknowledgement."""
    tables: int
    rows: int
    problems: tuple[str, ...]

    def require_none(self) -> None:
        """Raises AssertionError with the first problems."""
        shown = "\n".join(self.problems[:_MAX_SHOWN])
        assert not self.problems, f"seed {self.seed}, {len(self.problems)} problems\n{shown}"


def run_round(harness: ClusterHarness, seed: int, keyspace: str, plan: Iterable[Fault]) -> Report:
    """Create ten tables, write and strike, drain and compare."""
    started_s = time.monotonic()
    before, first_run = harness.counts.copy(), len(harness.agent.runs) - 1
    tables = random_tables(seed, keyspace=keyspace, release=harness.release)
    for statement in schema_statements(tables):
        harness.node.execute(statement)
    harness.node.execute(f"CREATE TABLE {keyspace}.{_LAST} (id int PRIMARY KEY) WITH cdc = true")
    topics = [f"kill.{table.full_name}" for table in tables] + [f"kill.{keyspace}.{_LAST}"]
    writes = random_writes(seed, _DIFFERENT_WRITES, keyspace=keyspace, release=harness.release)
    harness.use(cycle(writes), topics)

    for fault in plan:
        _write_until_arrived(harness, harness.arrived() + fault.after_records)
        strike(harness, fault)
    _drain(harness, keyspace)
    arrivals, merged = take_in(harness.broker.consume_all(*topics))
    schema = commitlog.Schema.from_cql(harness.node.describe_schema())
    compared = compare(harness.node.session(), merged, [keyspace])
    runs = harness.agent.runs
    risked = checks.at_risk(arrivals, runs)
    problems = [
        *compared.differences,
        *checks.differing_ids(arrivals),
        *checks.misplaced(arrivals),
        *checks.out_of_order(arrivals, runs),
        *checks.repeats_of_stored(arrivals, runs),
        *checks.beyond_window(risked, runs, WINDOW_EVENTS + _MUTATION_EVENTS),
        *checks.behind_the_chain(arrivals, harness.chain_ends),
        *checks.incomplete(arrivals, harness.events_in_segments(schema, keyspace)),
        *(f"{path.name} is in quarantine" for path in harness.agent.quarantine.glob("*")),
    ]
    events = len({arrival.source for arrival in arrivals})
    ended = [run for run in runs[first_run:] if run.end != "running"]
    return Report(
        seed=seed,
        seconds=time.monotonic() - started_s,
        counts=harness.counts - before,
        events=events,
        repeats=len(arrivals) - events,
        largest_repeat=max((risked[run.number] for run in ended), default=0),
        largest_window=max(
            (risked[run.number] for run in ended if run.flush_interval_ms == 0), default=0
        ),
        tables=compared.tables,
        rows=compared.rows,
        problems=tuple(problems),
    )


def _write_until_arrived(harness: ClusterHarness, records: int) -> None:
    """Continue writing; when far ahead of the arrivals, wait for them."""
    most = harness.counts["written"] + 2 * (records - harness.arrived()) + 2000
    while harness.arrived() < records:
        harness.agent.require_running()
        if harness.counts["written"] > most:
            wait_until(
                lambda: harness.arrived() >= records,
                f"{records} records\n{harness.agent.log_tail()}",
            )
        harness.write(harness.random.randrange(1, 100))


def _drain(harness: ClusterHarness, keyspace: str) -> None:
    """Execute a last write, and wait until everything up to it is delivered and stored."""
    last = f"kill.{keyspace}.{_LAST}"
    harness.node.execute(f"INSERT INTO {keyspace}.{_LAST} (id) VALUES (1)")
    written_s = time.time()
    wait_until(
        lambda: bool(harness.broker.consume_all(last)),
        f"the last write\n{harness.agent.log_tail()}",
    )
    harness.agent.wait_until_drained()
    wait_until(lambda: time.time() > written_s + SHORT_TTL_S + 1, "short TTLs to end")
