"""Times to live: of rows and of single cells, mixed in one row, by default, none, very long."""

from tests.support.workloads.scenario import Release, Scenario, batch, create_keyspace

KEYSPACE = "expiring"
_LONGEST_S = 630_720_000
_SECONDS = (1, 60, 86_400, 1_000_000, 300_000_000)


def build(release: Release, seed: int) -> Scenario:
    """The recorded workload; the seed does not matter here."""
    return _scenario("ttl", _SECONDS)


def build_longest(release: Release, seed: int) -> Scenario:
    """The same with the longest TTL there is: it needs 5.0 with `storage_compatibility_mode` NONE,
    everything else refuses an expiry after January 2038."""
    return _scenario("ttl_longest", (*_SECONDS, _LONGEST_S))


def _scenario(name: str, times_s: tuple[int, ...]) -> Scenario:
    rows, default = f"{KEYSPACE}.rows", f"{KEYSPACE}.by_default"
    schema = (
        create_keyspace(KEYSPACE),
        f"CREATE TABLE {rows} (p int, c int, s text STATIC, v text, w int, l list<int>, "
        "m map<text, text>, PRIMARY KEY (p, c)) WITH cdc = true",
        f"CREATE TABLE {default} (p int PRIMARY KEY, v text, w set<int>) "
        "WITH default_time_to_live = 1000000 AND cdc = true",
    )
    statements = []
    for number, seconds in enumerate(times_s):
        statements += [
            f"INSERT INTO {rows} (p, c, v, w) VALUES (1, {number}, 'v', 1) USING TTL {seconds}",
            f"INSERT INTO {rows} (p, c) VALUES (2, {number}) USING TTL {seconds}",
            f"UPDATE {rows} USING TTL {seconds} SET v = 'cell' WHERE p = 3 AND c = {number}",
            f"UPDATE {rows} USING TTL {seconds} SET s = 'static' WHERE p = {number + 10}",
            f"UPDATE {rows} USING TTL {seconds} SET l = l + [1], m['k'] = 'v' "
            f"WHERE p = 4 AND c = {number}",
            f"UPDATE {rows} USING TTL {seconds} AND TIMESTAMP 1500000000000000 SET w = 2, v = null "
            f"WHERE p = 5 AND c = {number}",
        ]
    statements += [
        batch(
            f"INSERT INTO {rows} (p, c, v) VALUES (6, 1, 'long') USING TTL 1000000",
            f"UPDATE {rows} USING TTL 60 SET w = 1 WHERE p = 6 AND c = 1",
            f"UPDATE {rows} SET l = [1, 2] WHERE p = 6 AND c = 1",
            f"UPDATE {rows} USING TTL 2000000 SET l = l + [3] WHERE p = 6 AND c = 1",
        ),
        f"INSERT INTO {default} (p, v, w) VALUES (1, 'default', {{1, 2}})",
        f"INSERT INTO {default} (p, v) VALUES (2, 'own') USING TTL 60",
        f"INSERT INTO {default} (p, v) VALUES (3, 'none') USING TTL 0",
        f"UPDATE {default} SET v = 'default' WHERE p = 4",
        f"UPDATE {default} USING TTL 0 SET w = w + {{3}} WHERE p = 4",
        f"DELETE v FROM {default} WHERE p = 1",
        f"DELETE FROM {default} WHERE p = 1",
    ]
    return Scenario(name, schema, tuple(statements))
