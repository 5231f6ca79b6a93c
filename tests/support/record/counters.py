"""Records counters on three nodes, in keyspaces of one and of three replicas, and what SELECT says
of them in the end."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cassandra import ConsistencyLevel
from cassandra.query import SimpleStatement

from tests.support.record.cluster import record_writes
from tests.support.workloads.scenario import batch

KEYSPACES = {"single": 1, "triple": 3}
_SEED = 9
_ROUNDS = 60


def schema() -> Iterator[str]:
    """One table in each keyspace."""
    for keyspace, replicas in KEYSPACES.items():
        yield (
            f"CREATE KEYSPACE {keyspace} WITH replication = "
            f"{{'class': 'NetworkTopologyStrategy', 'replication_factor': {replicas}}}"
        )
        yield (
            f"CREATE TABLE {keyspace}.hits (page text, day int, seen counter, kept counter, "
            "visits counter STATIC, PRIMARY KEY (page, day)) WITH cdc = true"
        )


def statements() -> Iterator[str]:
    """Updates up and down, counter batches, and deletions of every kind with updates behind."""
    chance = random.Random(_SEED)
    for number in range(_ROUNDS):
        for keyspace in KEYSPACES:
            table = f"{keyspace}.hits"
            page = f"page = '{chance.choice('abcde')}'"
            row = f"{page} AND day = {chance.randrange(3)}"
            step = chance.choice((1, 2, -3, 1 << 40, -(1 << 41)))
            yield f"UPDATE {table} SET seen = seen + {step} WHERE {row}"
            if number % 3 == 0:
                yield f"UPDATE {table} SET kept = kept + 1, seen = seen - 1 WHERE {row}"
            if number % 5 == 0:
                yield f"UPDATE {table} SET visits = visits + {step} WHERE {page}"
            if number % 10 == 0:
                yield batch(
                    f"UPDATE {table} SET seen = seen + 5 WHERE page = 'a' AND day = 0",
                    f"UPDATE {table} SET seen = seen + 6, kept = kept + 1 WHERE {row}",
                    f"UPDATE {table} SET visits = visits + 1 WHERE page = 'b'",
                    kind="COUNTER",
                )
    for keyspace in KEYSPACES:
        table = f"{keyspace}.hits"
        yield from (
            f"DELETE seen FROM {table} WHERE page = 'a' AND day = 0",
            f"DELETE FROM {table} WHERE page = 'b' AND day = 1",
            f"DELETE FROM {table} WHERE page = 'c' AND day >= 1",
            f"DELETE visits FROM {table} WHERE page = 'c'",
            f"DELETE FROM {table} WHERE page = 'd'",
        )
        for page, day in (("a", 0), ("b", 1), ("c", 2), ("d", 0)):
            row = f"page = '{page}' AND day = {day}"
            yield f"UPDATE {table} SET seen = seen + 7, kept = kept + 8 WHERE {row}"


def record(folder: Path, scratch: Path) -> str:
    """`node1`, `node2`, `node3` and `answers.json` under `folder`."""

    def ask(session: Any) -> None:
        answers = {}
        for keyspace in KEYSPACES:
            query = SimpleStatement(
                f"SELECT page, day, seen, kept, visits FROM {keyspace}.hits",
                consistency_level=ConsistencyLevel.ALL,
            )
            answers[keyspace] = sorted(list(row) for row in session.execute(query))
        (folder / "answers.json").write_text(json.dumps(answers, indent=1) + "\n")

    return record_writes(folder, scratch, list(schema()), list(statements()), ask=ask)
