"""Counters, regular and static, alone and in counter batches."""

from tests.support.workloads.scenario import Release, Scenario, batch, create_keyspace

KEYSPACE = "counters"


def build(release: Release, seed: int) -> Scenario:
    """The recorded workload; the seed does not matter here."""
    table = f"{KEYSPACE}.hits"
    schema = (
        create_keyspace(KEYSPACE),
        f"CREATE TABLE {table} (p int, c int, n counter, m counter, total counter STATIC, "
        "PRIMARY KEY (p, c)) WITH cdc = true",
        f"CREATE TABLE {KEYSPACE}.beside (p int PRIMARY KEY, v int) WITH cdc = true",
    )
    statements = []
    for step in (1, -1, 9_223_372_036_854_775_807, 1_000_000):
        for c in range(4):
            statements.append(f"UPDATE {table} SET n = n + {step} WHERE p = 1 AND c = {c}")
        statements.append(f"UPDATE {table} SET n = n - 1, m = m + 2 WHERE p = 2 AND c = 1")
        statements.append(f"UPDATE {table} SET total = total + {step} WHERE p = 1")
        statements.append(f"INSERT INTO {KEYSPACE}.beside (p, v) VALUES ({step % 100}, 1)")
    statements += [
        batch(
            f"UPDATE {table} SET n = n + 1 WHERE p = 3 AND c = 1",
            f"UPDATE {table} SET n = n + 1, m = m + 1 WHERE p = 3 AND c = 2",
            f"UPDATE {table} SET total = total + 2 WHERE p = 3",
            kind="COUNTER",
        ),
        f"DELETE n FROM {table} WHERE p = 1 AND c = 1",
        f"DELETE FROM {table} WHERE p = 1 AND c = 2",
        f"DELETE total FROM {table} WHERE p = 1",
        f"DELETE FROM {table} WHERE p = 2",
    ]
    return Scenario("counters", schema, tuple(statements))
