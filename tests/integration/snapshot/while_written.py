"""A table that is published, copied and written to at once, by an agent that is killed.

The writes insert and then update rows with the clock of the client, as snapshots require
(docs/how-to/snapshots.md, "What a merge has to assume").
"""

import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.oracle.algebra.tables import Tables
from tests.oracle.merge.comparison import Selected, differences, select_all
from tests.support.node.snapshot_agent import Agent, keys
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import release

WRITES = 3000
# So few that the kill comes during the snapshot.
_ROWS_PER_SECOND = 60
_LAST = "last"


@dataclass(frozen=True, slots=True)
class Merged:
    """Arrivals, merged in random order, against the node's selected rows."""

    events: int
    copied: int
    copied_before_kill: int
    copied_keys: int
    rows: int
    differences: list[str]


def copy_while_writes_go_on(
    node: CassandraNode, agent: Agent, table: str, seed: int, writes: int = WRITES
) -> Merged:
    """The agent copies tables that are published later; it is not started yet. Before 4.0 a node
    discards its log after a flush of its tables, so it is stopped for the remaining steps."""
    keyspace, name = table.split(".")
    node.execute(f"CREATE TABLE {table} ({COLUMNS})")
    writer = Writer(table, seed)
    for statement in writer.statements(writes, "before"):
        node.execute(statement)
    agent.process.launch(f"snapshot.rows.per.second={_ROWS_PER_SECOND}")
    agent.process.wait_until(lambda: agent.process.ask("/snapshot") is not None, "the agent")
    node.execute(f"ALTER TABLE {table} WITH cdc = true")

    def write() -> None:
        for statement in writer.statements(writes, "meanwhile"):
            session.execute(statement)

    session = node.connect()
    writing = threading.Thread(target=write)
    writing.start()
    agent.process.wait_until(lambda: agent.saved_percent(table) > 20, "a part of it is on disk")
    agent.process.kill()
    before = len(agent.events(is_snapshot=True))
    agent.process.launch("snapshot.rows.per.second=0")
    agent.wait_for(table, "completed")
    writing.join()
    copied = agent.events(is_snapshot=True)

    node.execute(f"CREATE TABLE {keyspace}.{_LAST} (id int PRIMARY KEY) WITH cdc = true")
    node.execute(f"INSERT INTO {keyspace}.{_LAST} (id) VALUES (1)")
    (found,) = node.execute(
        "SELECT id FROM system_schema.tables WHERE keyspace_name = %s AND table_name = %s",
        (keyspace, name),
    )
    selected: Selected | None = None
    if release(node.version) < (4, 0):
        selected = select_all(node.session(), keyspace, name)
        node.stop()
    agent.process.wait_until(
        lambda: bool(keys(agent.events(is_snapshot=False), f"{keyspace}.{_LAST}")), "the end"
    )
    events = agent.events()
    random.Random(seed).shuffle(events)
    tables = Tables()
    for event in events:
        tables.apply(event["value"])
    if selected is None:
        selected = select_all(node.session(), keyspace, name)
    return Merged(
        len(events),
        len(copied),
        before,
        len(set(keys(copied, table))),
        len(selected.rows),
        differences(tables.of(found.id), selected),
    )


TYPES = "CREATE TYPE {keyspace}.place (street text, number int)"
COLUMNS = (
    "k int, c int, owner text static, marks map<text, int> static, v int, t text, "
    "l list<int>, s set<int>, m map<text, int>, p place, f frozen<list<int>>, PRIMARY KEY (k, c)"
)
_PARTITIONS = 60
_ROWS = 8


@dataclass(slots=True)
class Writer:
    """Statements for one table; equal for equal seeds."""

    table: str
    seed: int
    _inserted: dict[tuple[int, int], bool] = field(default_factory=dict)
    """Existing rows, and whether they expire as a whole."""

    def statements(self, count: int, name: str) -> Iterator[str]:
        rng = random.Random(f"{self.seed} {name}")
        for _ in range(count):
            yield self._statement(rng)

    def _statement(self, rng: random.Random) -> str:
        k, c = rng.randrange(_PARTITIONS), rng.randrange(_ROWS)
        where = f"WHERE k = {k} AND c = {c}"
        match rng.randrange(20):
            case 0:
                return f"UPDATE {self.table} SET owner = 'o{rng.randrange(9)}' WHERE k = {k}"
            case 1:
                mark = rng.choice("abc")
                return f"UPDATE {self.table} SET marks['{mark}'] = {rng.randrange(9)} WHERE k = {k}"
            case 2:
                return f"DELETE marks['{rng.choice('abc')}'], owner FROM {self.table} WHERE k = {k}"
            case 3:
                self._delete(k, range(_ROWS))
                return f"DELETE FROM {self.table} WHERE k = {k}"
            case 4:
                low, high = sorted((c, rng.randrange(_ROWS)))
                self._delete(k, range(low, high))
                return f"DELETE FROM {self.table} WHERE k = {k} AND c >= {low} AND c < {high}"
            case 5 | 6:
                self._delete(k, (c,))
                return f"DELETE FROM {self.table} {where}"
            case number if number < 13 or self._inserted.get((k, c)) is not False:
                return self._insert(rng, k, c)
            case _:
                return f"UPDATE {self.table} {_change(rng)} {where}"

    def _insert(self, rng: random.Random, k: int, c: int) -> str:
        expires = rng.random() < 0.15
        # A row that expires as a whole contains no earlier cells.
        if expires and (k, c) in self._inserted:
            expires = self._inserted[k, c]
        elif self._inserted.get((k, c)):
            self._delete(k, (c,))
            return f"DELETE FROM {self.table} WHERE k = {k} AND c = {c}"
        self._inserted[k, c] = expires
        number = rng.randrange(1000)
        using = f" USING TTL {rng.choice((20, 3600))}" if expires else ""
        if not expires and rng.random() < 0.1:
            return f"INSERT INTO {self.table} (k, c) VALUES ({k}, {c})"
        return (
            f"INSERT INTO {self.table} (k, c, v, t, l, s, m, p, f) VALUES ({k}, {c}, {number}, "
            f"'t{number}', [1, {number}], {{2, {number}}}, {{'a': {number}, 'b': 2}}, "
            f"{{street: 's{number}', number: {number}}}, [{number}]){using}"
        )

    def _delete(self, k: int, rows: Iterator[int] | range | tuple[int, ...]) -> None:
        for c in rows:
            self._inserted.pop((k, c), None)


def _change(rng: random.Random) -> str:
    number = rng.randrange(1000)
    return rng.choice(
        (
            f"SET v = {number}",
            f"USING TTL {rng.choice((5, 900))} SET t = 'short{number}'",
            "SET v = null, t = null",
            f"SET l = l + [{number}]",
            f"SET l = [{number}]",
            f"SET s = s + {{{number}}}",
            "SET s = s - {2}",
            f"SET m['b'] = {number}",
            "SET m = m - {'a'}",
            f"SET m = {{'z': {number}}}",
            f"SET p.number = {number}",
            "SET p = null, f = null",
        )
    )
