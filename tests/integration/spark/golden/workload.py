"""All writes of a run, as a pure function of a seed and a size."""

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.oracle.merge.writes import Write, random_writes
from tests.support.node import deploys
from tests.support.workloads import Scenario, random_tables, scenario, schema_statements
from tests.support.workloads.scenario import Release, batch, create_keyspace

KEYSPACE = "golden"
COUNTERS = "golden_counters.hits"
CHANGING = "golden.changing"
RENAMED = {"place": "c"}
"""Columns of `CHANGING`, with their later names."""
EQUAL = "golden.equal"
LIVE = "shop.live"
"""Table of the bad deploy."""
FOLLOWED, EXPIRING, TRUNCATED = _SHOP = ("shop.followed", "shop.expiring", "shop.truncated")
_SHOP_COLUMNS = deploys.COLUMNS.replace("u point", "u place")
"""With a type that changes, unlike in the tables of the deploy."""
TTL_S = 240
"""TTL of the values of `EXPIRING`, which expire between two moments."""
_PAST_US, _HOUR_US = 1_700_000_000_000_000, 3_600_000_000
RELEASE: Release = (5, 0)
_REPLICAS = 3
_EQUAL_ELEMENTS = ("1", "1.0", "1.00", "10E-1", "0", "0.0", "-7.50", "-7.5")
_SET_WRITE = "comes_back = comes_back + {3}"
_EVERY_TYPE = ("types.every", "types.empties")
_WHOLE = (
    *("types", "collections", "deletions", "ttl", "timestamps", "wide", "batches"),
    *("transactions", "large"),
)
_UNREADABLE_IN_OA = re.compile(r"DELETE FROM \S+ USING TIMESTAMP -\d+ WHERE \w+ = \w+(?:;|$)")
"""The deletion of a partition at a negative time; see "Faults of Cassandra" in
docs/reference/support.md."""
_NAMED = re.compile(r"(?:TABLE|INTO|UPDATE|FROM)\s+(\S+)")


@dataclass(frozen=True, slots=True)
class Form:
    """The size of a run. `whole` adds all recorded workloads to the random one."""

    statements: int
    whole: bool
    segment_mib: int
    micro_batch: int
    """Records of a micro-batch."""
    has_moments: bool
    """Whether typed tables and changes are compared at moments, and a bad deploy is undone."""


SMALL = Form(statements=360, whole=False, segment_mib=1, micro_batch=1000, has_moments=False)
LARGE = Form(statements=5_000, whole=True, segment_mib=4, micro_batch=5000, has_moments=True)


@dataclass(frozen=True, slots=True)
class Workload:
    """Statements that create tables, writes in order, and schema changes with later writes."""

    schema: tuple[str, ...]
    writes: tuple[Write, ...]
    changes: tuple[str, ...]
    writes_after: tuple[Write, ...]
    expiring: tuple[Write, ...]
    """Writes after these, to `EXPIRING`."""
    later_changes: tuple[str, ...]
    later_writes: tuple[Write, ...]

    def parts(self, count: int) -> list[Sequence[Write]]:
        """The first writes in `count` parts of about equal size."""
        ends = [len(self.writes) * number // count for number in range(count + 1)]
        return [self.writes[start:end] for start, end in pairwise(ends)]


def workload(seed: int, form: Form, *, writes_oa: bool = False) -> Workload:
    """Random tables with deletions of every kind, TTLs, ties and batches; every type; conditions;
    counters; a table that changes. `writes_oa`: the nodes flush to SSTables of the format `oa`, in
    which they could not read some deletions."""
    rng = random.Random(f"golden {seed}")
    found = [_only(scenario("types", RELEASE, seed), _EVERY_TYPE)]
    found.append(scenario("transactions", RELEASE, seed))
    if form.whole:
        found = [scenario(name, RELEASE, seed) for name in _WHOLE]
    schema = [
        *schema_statements(random_tables(seed, keyspace=KEYSPACE), _REPLICAS),
        *deploys.SCHEMA,
        "CREATE TYPE shop.place (x int, y text)",
        *(f"CREATE TABLE {name} ({_SHOP_COLUMNS}) WITH cdc = true" for name in _SHOP),
        f"CREATE TABLE {CHANGING} (p int, c int, kept text, goes int, comes_back set<int>, "
        "PRIMARY KEY (p, c)) WITH cdc = true",
        f"CREATE TABLE {EQUAL} (p int, c int, s set<decimal>, m map<decimal, int>, "
        "t set<decimal> STATIC, PRIMARY KEY (p, c)) WITH cdc = true",
        create_keyspace("golden_counters", _REPLICAS),
        f"CREATE TABLE {COUNTERS} (page text, day int, seen counter, kept counter, "
        "visits counter STATIC, PRIMARY KEY (page, day)) WITH cdc = true",
        *(statement for each in found for statement in each.schema),
    ]
    few = max(20, form.statements // 20)
    random_ones = list(random_writes(seed, form.statements, keyspace=KEYSPACE))
    first, second = form.statements * 3 // 4, form.statements * 7 // 8
    before, after, later = random_ones[:first], random_ones[first:second], random_ones[second:]
    streams = [
        before,
        _shop_rows(rng, FOLLOWED, few, hour=0),
        _shop_rows(rng, TRUNCATED, few),
        [Write(text) for text in (*_counts(rng, few), *_deleted_counts())],
        [Write(text) for text in _rows(rng, few, "c", ("kept = 'a'", "goes = 1", _SET_WRITE))],
        [Write(text) for text in _equal_elements(rng, few)],
        *(
            [
                Write(_lasting(text))
                for text in each.statements
                if not (writes_oa and _UNREADABLE_IN_OA.search(text))
            ]
            for each in found
        ),
    ]
    changed = _rows(rng, few, "c", ("kept = 'b'", "fresh = fresh + [2]", _SET_WRITE))
    renamed = _rows(rng, few, "place", ("kept = 'c'", "fresh = fresh + [3]", "fresh = null"))
    return Workload(
        schema=tuple(map(replicated, schema)),
        writes=tuple(_interleaved(rng, streams)),
        changes=(
            f"ALTER TABLE {CHANGING} ADD fresh list<int>",
            f"ALTER TABLE {CHANGING} DROP goes",
            f"ALTER TABLE {CHANGING} DROP comes_back",
            f"ALTER TABLE {CHANGING} ADD comes_back set<int>",
        ),
        writes_after=tuple(
            _interleaved(
                rng,
                [
                    after,
                    [Write(text) for text in changed],
                    _shop_rows(rng, FOLLOWED, few, hour=1),
                    [Write(text) for text in _counts(rng, few)],
                ],
            )
        ),
        expiring=tuple(_shop_rows(rng, EXPIRING, few, ttl_s=TTL_S)),
        later_changes=(
            *(f"ALTER TABLE {CHANGING} RENAME {old} TO {new}" for new, old in RENAMED.items()),
            f"ALTER TABLE {CHANGING} DROP kept",
            f"ALTER TABLE {CHANGING} ADD kept text",
            "ALTER TYPE shop.place ADD z int",
            f"ALTER TABLE {FOLLOWED} DROP b",
        ),
        later_writes=tuple(
            _interleaved(
                rng,
                [
                    later,
                    [Write(text) for text in renamed],
                    _shop_rows(rng, TRUNCATED, few),
                    [
                        Write(
                            f"UPDATE {FOLLOWED} SET u.z = {rng.randrange(9)} "
                            f"WHERE p = {rng.randrange(6)} AND c = {rng.randrange(5)}"
                        )
                        for _ in range(few)
                    ],
                ],
            )
        ),
    )


def followed_tables(form: Form) -> list[str]:
    """Tables that are compared at every moment."""
    found = [CHANGING, COUNTERS, LIVE, *_SHOP, f"{KEYSPACE}.t0"]
    if form.whole:
        found += [EQUAL, *_EVERY_TYPE]
    return found


def replicated(statement: str) -> str:
    """The statement for three replicas without read repair, which would write to the log."""
    text = statement.replace("'replication_factor': 1}", f"'replication_factor': {_REPLICAS}}}")
    if text.startswith("CREATE TABLE") and "read_repair" not in text:
        text = text.replace("cdc = true", "read_repair = 'NONE' AND cdc = true")
    return text


def _only(whole: Scenario, tables: Sequence[str]) -> Scenario:
    """The scenario without its other tables."""

    def is_kept(statement: str) -> bool:
        named = set(_NAMED.findall(statement))
        return not named or named <= set(tables)

    return Scenario(
        whole.name,
        tuple(text for text in whole.schema if is_kept(text) and '"' not in text),
        tuple(filter(is_kept, whole.statements)),
    )


def _lasting(statement: str) -> str:
    """TTLs that expire either at once or long after the comparison."""
    return re.sub(r"\bTTL 60\b", "TTL 6000", statement)


def _counts(rng: random.Random, count: int) -> Iterable[str]:
    """Increments of counters."""
    for _ in range(count):
        page = f"page = '{rng.choice('abcde')}'"
        row = f"{page} AND day = {rng.randrange(3)}"
        step = rng.choice((1, 2, -3, 1 << 40, -(1 << 41)))
        yield rng.choice(
            (
                f"UPDATE {COUNTERS} SET seen = seen + {step} WHERE {row}",
                f"UPDATE {COUNTERS} SET kept = kept + 1, seen = seen - 1 WHERE {row}",
                f"UPDATE {COUNTERS} SET visits = visits + {step} WHERE {page}",
                batch(
                    f"UPDATE {COUNTERS} SET seen = seen + 5 WHERE page = 'a' AND day = 0",
                    f"UPDATE {COUNTERS} SET visits = visits + 1 WHERE page = 'b'",
                    kind="COUNTER",
                ),
            )
        )


def _deleted_counts() -> Iterable[str]:
    """Deleted counters. They have no later updates, because Cassandra does not define increments
    after a deletion."""
    for page in ("gone", "row gone", "cell gone"):
        row = f"page = '{page}' AND day = 1"
        yield f"UPDATE {COUNTERS} SET seen = seen + 1, kept = kept + 2 WHERE {row}"
    yield f"DELETE FROM {COUNTERS} WHERE page = 'gone'"
    yield f"DELETE FROM {COUNTERS} WHERE page = 'row gone' AND day = 1"
    yield f"DELETE seen FROM {COUNTERS} WHERE page = 'cell gone' AND day = 1"


def _rows(rng: random.Random, count: int, clustering: str, changes: Sequence[str]) -> Iterable[str]:
    """Updates of single columns, and deletions. `clustering` is the name of that column."""
    for _ in range(count):
        row = f"p = {rng.randrange(3)} AND {clustering} = {rng.randrange(4)}"
        if rng.random() < 0.1:
            yield f"DELETE FROM {CHANGING} WHERE {row}"
        else:
            yield f"UPDATE {CHANGING} SET {rng.choice(changes)} WHERE {row}"


def _shop_rows(
    rng: random.Random, table: str, count: int, hour: int | None = None, ttl_s: int | None = None
) -> list[Write]:
    """Writes of all kinds, with write times of this hour of the past or those of the nodes.

    With `ttl_s` they only insert values, which expire.
    """
    found = []
    for write in deploys.writes(rng, count, _PAST_US + (hour or 0) * _HOUR_US):
        if ttl_s is not None:
            if "INSERT" in write.text:
                found.append(Write(write.text.format(table=table, using=f"USING TTL {ttl_s}")))
        elif hour is None:
            found.append(Write(write.text.format(table=table, using="")))
        else:
            found.append(Write(write.to(table)))
    return found


def _equal_elements(rng: random.Random, count: int) -> Iterable[str]:
    """Equal elements and keys with different bytes. No two have equal write times, because then the
    order of arrival would decide."""
    for number in rng.sample(range(1, 10 * count), count):
        row = f"p = {rng.randrange(2)} AND c = {rng.randrange(2)}"
        element = rng.choice(_EQUAL_ELEMENTS)
        time = f"USING TIMESTAMP {number}"
        yield rng.choice(
            (
                f"UPDATE {EQUAL} {time} SET s = s + {{{element}}} WHERE {row}",
                f"UPDATE {EQUAL} {time} SET s = s - {{{element}}} WHERE {row}",
                f"UPDATE {EQUAL} {time} SET m[{element}] = {number} WHERE {row}",
                f"UPDATE {EQUAL} {time} SET m[{element}] = {number} WHERE {row}",
                f"DELETE m[{element}] FROM {EQUAL} {time} WHERE {row}",
                f"UPDATE {EQUAL} {time} SET t = t + {{{element}}} WHERE p = {rng.randrange(2)}",
            )
        )


def _interleaved(rng: random.Random, streams: Sequence[Sequence[Write]]) -> list[Write]:
    """All writes, each stream in its order, without TRUNCATE."""
    turns = [number for number, stream in enumerate(streams) for _ in stream]
    rng.shuffle(turns)
    rest = [iter(stream) for stream in streams]
    writes = [next(rest[number]) for number in turns]
    return [write for write in writes if not write.text.startswith("TRUNCATE")]
