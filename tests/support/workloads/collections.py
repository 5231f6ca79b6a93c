"""The life of non-frozen collections and user types, regular and static."""

from tests.support.workloads.scenario import Release, Scenario, batch, create_keyspace

KEYSPACE = "collections"
_T = f"{KEYSPACE}.life"
_S = f"{KEYSPACE}.shared"
_SCHEMA = (
    create_keyspace(KEYSPACE),
    f"CREATE TYPE {KEYSPACE}.point (x int, y int, label text)",
    f"CREATE TYPE {KEYSPACE}.many (" + ", ".join(f"f{number:02} int" for number in range(20)) + ")",
    f"CREATE TABLE {_T} (p int PRIMARY KEY, l list<text>, s set<int>, m map<text, int>, u point, "
    "w many, n map<frozen<tuple<int, text>>, frozen<list<int>>>, v text) WITH cdc = true",
    f"CREATE TABLE {_S} (p int, c int, l list<int> STATIC, s set<text> STATIC, "
    "m map<int, text> STATIC, u point STATIC, v set<int>, PRIMARY KEY (p, c)) WITH cdc = true",
)
_FULL = "(p, l, s, m, u, n, v) VALUES ({p}, ['a', 'b', 'c'], {{3, 1, 2}}, {{'k': 1, 'j': 2}}, "
_FULL += "{{x: 1, y: 2, label: 'one'}}, {{(1, 'a'): [1, 2], (2, null): []}}, 'v')"
_OLD_US = 1_500_000_000_000_000


def build(release: Release, seed: int) -> Scenario:
    """The recorded workload; the seed does not matter here."""
    statements: list[str] = []
    for p in (1, 2, 3):
        statements += [f"INSERT INTO {_T} {_FULL.format(p=p)}", *_changes(p)]
    statements += _with_options(4) + _static() + _in_batches()
    return Scenario("collections", _SCHEMA, tuple(statements))


def _changes(p: int) -> list[str]:
    def update(*assignments: str) -> str:
        return f"UPDATE {_T} SET {', '.join(assignments)} WHERE p = {p}"

    def delete(*targets: str) -> str:
        return f"DELETE {', '.join(targets)} FROM {_T} WHERE p = {p}"

    changes = [
        update("l = l + ['d', 'e']"),
        update("l = ['z', 'y'] + l"),
        update("l[0] = 'first'"),
        update("l[1] = null"),
        delete("l[0]"),
        update("l = l - ['b', 'nothing']"),
        update("l = ['over', 'written']"),
        update("l = l + ['']"),
        update("s = s + {7, -7}"),
        update("s = s - {1, 99}"),
        delete("s[2]"),
        update("s = {5}"),
        update("m['k'] = 3"),
        update("m['k'] = null"),
        update("m = m + {'n': 9, '': 0}"),
        update("m = m - {'j', 'none'}"),
        delete("m['n']", "m['']"),
        update("m = {'only': 1}"),
        update("u.x = 5"),
        update("u.label = null", "u.y = -1"),
        delete("u.x"),
        update("u = {y: 7}"),
        update("u = {x: null, label: ''}"),
        update("w = {f00: 0, f19: 19}"),
        update("w.f07 = 7", "w.f13 = null"),
        update("n[(1, 'a')] = [9]"),
        delete("n[(2, null)]"),
        update("l = []", "s = {}", "m = {}"),
        update("l = ['again']", "s = {1}", "m = {'again': 1}", "u.x = 1", "v = 'w'"),
        update("l = null", "s = null", "m = null", "u = null"),
        delete("l", "s", "m", "u", "w", "n"),
        f"INSERT INTO {_T} (p, l, s, m, u) VALUES ({p}, [], {{}}, {{}}, null)",
    ]
    return changes if p == 1 else [change for i, change in enumerate(changes) if i % p]


def _with_options(p: int) -> list[str]:
    def update(using: str, *assignments: str) -> str:
        return f"UPDATE {_T} USING {using} SET {', '.join(assignments)} WHERE p = {p}"

    return [
        f"INSERT INTO {_T} {_FULL.format(p=p)} USING TTL 1000000",
        update("TTL 2000000", "l = l + ['short']", "s = {8}", "m['k'] = 4", "u.x = 3"),
        update(f"TIMESTAMP {_OLD_US}", "l = ['old']", "s = {9}", "m = {'old': 1}"),
        update(f"TIMESTAMP {_OLD_US} AND TTL 3000000", "s = s + {10}", "u = {x: 1}"),
        f"DELETE l, s[8] FROM {_T} USING TIMESTAMP {_OLD_US + 1} WHERE p = {p}",
        f"DELETE u.x, m FROM {_T} USING TIMESTAMP {_OLD_US + 2} WHERE p = {p}",
    ]


def _static() -> list[str]:
    return [
        f"INSERT INTO {_S} (p, c, l, s, m, u, v) VALUES "
        "(1, 1, [1, 2], {'a', 'b'}, {1: 'x'}, {x: 1}, {4})",
        f"UPDATE {_S} SET l = l + [3], s = s - {{'a'}}, m[2] = 'y', u.y = 2 WHERE p = 1",
        f"UPDATE {_S} SET l[0] = 9 WHERE p = 1",
        f"DELETE l[1], m[1], u.x FROM {_S} WHERE p = 1",
        f"UPDATE {_S} SET l = [7], s = {{'new'}}, v = v + {{5}} WHERE p = 1 AND c = 1",
        f"DELETE l, s, m, u FROM {_S} WHERE p = 1",
        f"UPDATE {_S} USING TTL 1000000 SET s = s + {{'t'}} WHERE p = 2",
        f"DELETE FROM {_S} WHERE p = 1",
    ]


def _in_batches() -> list[str]:
    return [
        batch(
            f"UPDATE {_T} SET l = l + ['x'] WHERE p = 5",
            f"UPDATE {_T} SET l = ['replaced'] WHERE p = 5",
            f"UPDATE {_T} SET l = l + ['y'] WHERE p = 5",
        ),
        batch(
            f"DELETE s FROM {_T} WHERE p = 5",
            f"UPDATE {_T} SET s = s + {{1}} WHERE p = 5",
            f"UPDATE {_T} SET s = s - {{1}} WHERE p = 5",
        ),
        batch(
            f"UPDATE {_T} USING TIMESTAMP {_OLD_US} SET m = {{'a': 1}} WHERE p = 5",
            f"UPDATE {_T} USING TIMESTAMP {_OLD_US - 1} SET m = m + {{'b': 2}} WHERE p = 5",
            f"DELETE m['a'] FROM {_T} USING TIMESTAMP {_OLD_US} WHERE p = 5",
            kind="UNLOGGED",
        ),
    ]
