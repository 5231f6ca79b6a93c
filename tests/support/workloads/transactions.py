"""Lightweight transactions, applied and not: only what is applied leaves a trace."""

from tests.support.workloads.scenario import Release, Scenario, batch, create_keyspace

KEYSPACE = "transactions"


def build(release: Release, seed: int) -> Scenario:
    """The recorded workload; the seed does not matter here."""
    table = f"{KEYSPACE}.accounts"
    schema = (
        create_keyspace(KEYSPACE),
        f"CREATE TABLE {table} (p int, c int, s int STATIC, v text, w int, tags set<text>, "
        "PRIMARY KEY (p, c)) WITH cdc = true",
    )
    statements = []
    for p in range(4):
        row = f"p = {p} AND c = 1"
        statements += [
            f"INSERT INTO {table} (p, c, v, w) VALUES ({p}, 1, 'a', 0) IF NOT EXISTS",
            f"INSERT INTO {table} (p, c, v, w) VALUES ({p}, 1, 'b', 1) IF NOT EXISTS",
            f"UPDATE {table} SET w = 1 WHERE {row} IF w = 0",
            f"UPDATE {table} SET w = 9 WHERE {row} IF w = 7",
            f"UPDATE {table} USING TTL 1000000 SET v = 'ttl', tags = {{'x'}} WHERE {row} IF EXISTS",
            f"UPDATE {table} SET s = 1 WHERE p = {p} IF s = null",
            f"INSERT INTO {table} (p, c, s) VALUES ({p}, 2, 5) IF NOT EXISTS",
            batch(
                f"UPDATE {table} SET w = 2 WHERE {row} IF w = 1",
                f"INSERT INTO {table} (p, c, v) VALUES ({p}, 3, 'with')",
                f"DELETE FROM {table} WHERE p = {p} AND c = 2",
            ),
            batch(
                f"UPDATE {table} SET w = 3 WHERE {row} IF w = 1",
                f"INSERT INTO {table} (p, c, v) VALUES ({p}, 4, 'without')",
            ),
            f"DELETE v FROM {table} WHERE {row} IF w = 2",
            f"DELETE FROM {table} WHERE {row} IF w = 2",
            f"DELETE FROM {table} WHERE {row} IF EXISTS",
        ]
    return Scenario("transactions", schema, tuple(statements))
