"""USING TIMESTAMP at the extremes, and mixed inside one update."""

from itertools import product

from tests.support.workloads.scenario import Release, Scenario, batch, create_keyspace

KEYSPACE = "moments"
TIMES_US = (
    0,
    1,
    -1,
    1_700_000_000_000_000,
    4_000_000_000_000_000,
    1 << 53,
    (1 << 63) - 1,
    -(1 << 63) + 1,
)
"""The smallest 64-bit number is not among them: Cassandra keeps it for "no timestamp"."""


def build(release: Release, seed: int) -> Scenario:
    """The recorded workload; the seed does not matter here."""
    table = f"{KEYSPACE}.t"
    schema = (
        create_keyspace(KEYSPACE),
        f"CREATE TABLE {table} (p int, c int, s int STATIC, v text, w text, l list<int>, "
        "m map<int, int>, PRIMARY KEY (p, c)) WITH cdc = true",
    )
    statements = []
    for c, time_us in enumerate(TIMES_US):
        row = f"p = 1 AND c = {c}"
        statements += [
            f"INSERT INTO {table} (p, c, v, l) VALUES (1, {c}, 'v', [1]) USING TIMESTAMP {time_us}",
            f"UPDATE {table} USING TIMESTAMP {time_us} SET w = 'w', m[1] = 2 WHERE {row}",
            f"UPDATE {table} USING TIMESTAMP {time_us} AND TTL 1000000 SET w = 'x' WHERE {row}",
            f"DELETE v FROM {table} USING TIMESTAMP {time_us} WHERE {row}",
            f"DELETE FROM {table} USING TIMESTAMP {time_us} WHERE {row}",
            f"DELETE FROM {table} USING TIMESTAMP {time_us} WHERE p = 1 AND c > {c} AND c < 100",
            f"UPDATE {table} USING TIMESTAMP {time_us} SET s = {c} WHERE p = 1",
            f"DELETE FROM {table} USING TIMESTAMP {time_us} WHERE p = {c + 2}",
        ]
    for first_us, second_us in product(TIMES_US[::2], TIMES_US[1::2]):
        statements.append(
            batch(
                f"INSERT INTO {table} (p, c, v) VALUES (20, 1, 'v') USING TIMESTAMP {first_us}",
                f"UPDATE {table} USING TIMESTAMP {second_us} SET w = 'w' WHERE p = 20 AND c = 1",
                f"DELETE l FROM {table} USING TIMESTAMP {first_us} WHERE p = 20 AND c = 1",
                f"DELETE FROM {table} USING TIMESTAMP {second_us} WHERE p = 20 AND c > 5",
            )
        )
    statements += [
        batch(
            f"INSERT INTO {table} (p, c, v) VALUES (30, 1, 'a')",
            f"INSERT INTO {table} (p, c, v) VALUES (30, 1, 'b')",
            f"UPDATE {table} SET s = 1 WHERE p = 30",
            kind="UNLOGGED",
            using="USING TIMESTAMP 1700000000000001",
        ),
        batch(
            f"DELETE FROM {table} WHERE p = 30 AND c = 1",
            f"INSERT INTO {table} (p, c, v) VALUES (30, 1, 'tie')",
            using="USING TIMESTAMP 1700000000000002",
        ),
    ]
    return Scenario("timestamps", schema, tuple(statements))
