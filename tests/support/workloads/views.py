"""Materialised views and an index: their records lie beside those of the base table."""

from tests.support.workloads.scenario import Release, Scenario, create_keyspace

KEYSPACE = "views"


def build(release: Release, seed: int) -> Scenario:
    """The recorded workload; the seed does not matter here."""
    base = f"{KEYSPACE}.base"
    schema = (
        create_keyspace(KEYSPACE),
        f"CREATE TABLE {base} (p int, c int, v text, w int, PRIMARY KEY (p, c)) WITH cdc = true",
        f"CREATE MATERIALIZED VIEW {KEYSPACE}.by_value AS SELECT * FROM {base} WHERE v IS NOT NULL "
        "AND p IS NOT NULL AND c IS NOT NULL PRIMARY KEY (v, p, c)",
        f"CREATE MATERIALIZED VIEW {KEYSPACE}.by_c AS SELECT p, c, w FROM {base} WHERE "
        "p IS NOT NULL AND c IS NOT NULL PRIMARY KEY (c, p) WITH CLUSTERING ORDER BY (p DESC)",
        f"CREATE INDEX base_w ON {base} (w)",
    )
    statements = []
    for c in range(6):
        row = f"p = 1 AND c = {c}"
        statements += [
            f"INSERT INTO {base} (p, c, v, w) VALUES (1, {c}, 'a', {c})",
            f"UPDATE {base} SET v = 'b' WHERE {row}",
            f"UPDATE {base} USING TTL 1000000 SET v = 'c' WHERE {row}",
            f"UPDATE {base} SET w = {c + 1} WHERE {row}",
            f"UPDATE {base} SET v = null WHERE {row}",
            f"INSERT INTO {base} (p, c, v) VALUES (1, {c}, 'd') USING TTL 60",
            f"DELETE w FROM {base} WHERE {row}",
        ]
    statements += [
        f"DELETE FROM {base} WHERE p = 1 AND c = 1",
        f"DELETE FROM {base} WHERE p = 1 AND c > 3",
        f"DELETE FROM {base} WHERE p = 1",
    ]
    return Scenario("views", schema, tuple(statements))
