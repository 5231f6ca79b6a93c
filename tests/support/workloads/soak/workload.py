"""One workload: a keyspace, and everything that happens to it."""

import random
from dataclasses import dataclass

from tests.support.workloads.cql_types import SCALARS, CqlType, create_type
from tests.support.workloads.scenario import Release, create_keyspace
from tests.support.workloads.soak.changes import Keyspace, random_change
from tests.support.workloads.soak.tables import SoakTable, random_table, shared_key
from tests.support.workloads.soak.types import TypeSource, random_user_type
from tests.support.workloads.soak.writes import (
    Writer,
    random_batch,
    random_conditional,
    random_write,
)


@dataclass(frozen=True, slots=True)
class Step:
    """One statement. `drops`: the table, of the workload's keyspace, that it removes; whoever wants
    to read the log later has to write down its definition before."""

    cql: str
    drops: str | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """A keyspace and its statements in order."""

    seed: int
    keyspace: str
    steps: tuple[Step, ...]


def workload(seed: int, release: Release, *, is_far: bool = False, writes: int = 45) -> Workload:
    """`is_far`: expiries may lie behind January 2038, which needs 5.0 in mode NONE."""
    rng = random.Random(f"soak {seed}")
    name = f"w{seed}"
    user_types: dict[str, CqlType] = {}
    for number in range(rng.randrange(1, 4)):
        source = TypeSource(release, user_types)
        user_types[f"u{number}"] = random_user_type(rng, source, f"u{number}")
    shared = shared_key(rng, TypeSource(release, user_types))
    keyspace = Keyspace(name, release, shared, dict(user_types))
    steps = [Step(create_keyspace(name))]
    steps += [Step(create_type(name, of)) for of in user_types.values()]
    for number in range(rng.randrange(2, 5)):
        table = random_table(rng, keyspace.source, name, f"t{number}", shared)
        keyspace.tables[table.name] = table
        steps.append(Step(table.create))
        if table.kind == "viewed":
            steps.append(Step(_view(rng, table)))
    for _ in range(writes):
        if rng.random() < 0.1 and (change := random_change(rng, keyspace)):
            first, *others = change.statements
            steps += [Step(first, change.drops), *(Step(each) for each in others)]
        steps.append(Step(_write(rng, keyspace.current(), is_far=is_far)))
    return Workload(seed, name, tuple(steps))


def _write(rng: random.Random, tables: list[SoakTable], *, is_far: bool) -> str:
    choice = rng.random()
    if choice < 0.2:
        return random_batch(rng, tables, is_far=is_far)
    writer = Writer(rng, rng.choice(tables), is_far)
    if choice < 0.27 and not writer.table.is_counter:
        return random_conditional(writer)
    return random_write(writer)


def _view(rng: random.Random, table: SoakTable) -> str:
    """A view with the columns of the base in another order, with or without a regular one before
    them."""
    key = [each.name for each in (*table.partition, *table.clustering)]
    rng.shuffle(key)
    if rng.random() < 0.7:
        key.insert(0, rng.choice([c.name for c in table.regular if c.type.name in SCALARS]))
    given = " AND ".join(f"{each} IS NOT NULL" for each in key)
    chosen = "*" if rng.random() < 0.5 else ", ".join((*key, table.regular[0].name))
    if chosen != "*":
        chosen = ", ".join(dict.fromkeys(chosen.split(", ")))
    return (
        f"CREATE MATERIALIZED VIEW {table.keyspace}.{table.name}_view AS SELECT {chosen} "
        f"FROM {table.full_name} WHERE {given} PRIMARY KEY ({', '.join(key)})"
    )
