"""Logged and unlogged batches over tables with and without CDC, of one and of several keyspaces."""

from tests.support.workloads.scenario import Release, Scenario, batch, create_keyspace

KEYSPACE = "batches"
OTHER = "batches_other"


def build(release: Release, seed: int) -> Scenario:
    """The recorded workload; the seed does not matter here."""
    one, two, plain = (f"{KEYSPACE}.{name}" for name in ("one", "two", "not_captured"))
    elsewhere = f"{OTHER}.one"
    columns = "(p int, c int, s text STATIC, v text, PRIMARY KEY (p, c))"
    schema = (
        create_keyspace(KEYSPACE),
        create_keyspace(OTHER),
        f"CREATE TABLE {one} {columns} WITH cdc = true",
        f"CREATE TABLE {two} {columns} WITH cdc = true",
        f"CREATE TABLE {plain} {columns}",
        f"CREATE TABLE {elsewhere} {columns} WITH cdc = true",
    )

    def insert(table: str, p: int, c: int, value: str = "v") -> str:
        return f"INSERT INTO {table} (p, c, v) VALUES ({p}, {c}, '{value}')"

    statements = []
    for number, kind in enumerate(("", "UNLOGGED")):
        p = 10 * number
        statements += [
            batch(insert(one, p, 1), kind=kind),
            batch(insert(one, p, 1), insert(one, p, 2), insert(one, p, 3), kind=kind),
            batch(insert(one, p, 1), insert(plain, p, 1), kind=kind),
            batch(insert(plain, p, 1), insert(one, p, 1), insert(plain, p, 2), kind=kind),
            batch(insert(one, p, 1), insert(two, p, 1), kind=kind),
            batch(insert(two, p, 1), insert(one, p, 1), insert(plain, p, 1), kind=kind),
            batch(insert(one, p, 1), insert(elsewhere, p, 1), kind=kind),
            batch(*(insert(one, p + each, 1) for each in range(5)), kind=kind),
            batch(*(insert(t, p + i, i) for i in range(4) for t in (one, plain, two)), kind=kind),
            batch(insert(plain, p, 1), insert(plain, p, 2), kind=kind),
            batch(
                f"DELETE FROM {one} WHERE p = {p}",
                f"UPDATE {two} SET s = 'static', v = 'v' WHERE p = {p} AND c = 1",
                f"DELETE FROM {two} WHERE p = {p} AND c > 5",
                f"UPDATE {one} USING TTL 1000000 SET v = 'ttl' WHERE p = {p} AND c = 7",
                f"DELETE v FROM {plain} WHERE p = {p} AND c = 1",
                kind=kind,
            ),
            batch(*(insert(one, p, c, "x" * 100) for c in range(60)), kind=kind),
            batch(insert(one, p, 1, "first"), insert(one, p, 1, "second"), kind=kind),
        ]
    statements += [insert(plain, 1, 1), insert(one, 1, 1), insert(elsewhere, 1, 1)]
    return Scenario("batches", schema, tuple(statements))
