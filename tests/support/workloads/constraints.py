"""Constraints, comments and copied tables of 6.0: none of them changes the bytes of a write."""

from tests.support.workloads.scenario import Release, Scenario, batch, create_keyspace

KEYSPACE = "constraints"


def build(release: Release, seed: int) -> Scenario:
    """The recorded workload, for 6.0; the seed does not matter here."""
    people, copied, added, required = (
        f"{KEYSPACE}.{name}" for name in ("people", "copied", "added", "required")
    )
    schema = (
        create_keyspace(KEYSPACE),
        f"CREATE TYPE {KEYSPACE}.place (street text, number int)",
        f"CREATE TABLE {people} (id int CHECK id > 0, name text CHECK LENGTH() < 20, "
        "site text STATIC, age int CHECK age >= 0 AND age < 150, "
        "extra text CHECK JSON, code text CHECK REGEXP() = '[a-z;]*', raw blob CHECK LENGTH() < 9, "
        "home frozen<place>, tags set<text>, PRIMARY KEY (id, name)) WITH cdc = true",
        f"COMMENT ON KEYSPACE {KEYSPACE} IS 'a; CREATE TABLE'",
        f"COMMENT ON TABLE {people} IS 'it''s -- no comment'",
        f"COMMENT ON COLUMN {people}.age IS 'in years'",
        f"COMMENT ON TYPE {KEYSPACE}.place IS 'where'",
        f"SECURITY LABEL ON TABLE {people} IS 'secret'",
        f"CREATE TABLE {copied} LIKE {people}",
        f"CREATE TABLE {added} (id int PRIMARY KEY, v int, w text) WITH cdc = true",
        f"CREATE TABLE {required} (id int PRIMARY KEY, v text CHECK NOT NULL) WITH cdc = true",
    )
    statements = []
    for table in (people, copied):
        statements += [
            f"INSERT INTO {table} (id, name, site, age, extra, code, raw, home, tags) VALUES (1, "
            "'a', 'here', 7, '{\"k\": [1]}', 'a;b', 0xcafe, {street: 's', number: 4}, {'x', 'y'})",
            f"UPDATE {table} SET age = 8, tags = tags - {{'x'}} WHERE id = 1 AND name = 'a'",
            f"UPDATE {table} SET age = 9 WHERE id = 1 AND name = 'a' IF age = 8",
            f"DELETE extra FROM {table} WHERE id = 1 AND name = 'a'",
            f"DELETE FROM {table} WHERE id = 1 AND name > 'b'",
        ]
    statements += [
        f"ALTER TABLE {copied} ALTER age DROP CHECK",
        f"UPDATE {copied} SET age = -1 WHERE id = 1 AND name = 'a'",
        f"INSERT INTO {added} (id, v, w) VALUES (1, 2, 'before')",
        f"ALTER TABLE {added} DROP w",
        f"INSERT INTO {added} (id, v) VALUES (2, 3)",
        f"ALTER TABLE {added} ADD w text",
        f"ALTER TABLE {added} ADD x int CHECK x > 3",
        f"INSERT INTO {added} (id, w, x) VALUES (1, 'after', 4)",
        batch(
            f"INSERT INTO {people} (id, name, site, code) VALUES (2, 'b', 'there', 'c')",
            f"INSERT INTO {copied} (id, name, site, code) VALUES (2, 'b', 'there', 'c')",
        ),
        f"INSERT INTO {required} (id, v) VALUES (1, '')",
        f"UPDATE {required} USING TTL 1000000 SET v = 'v' WHERE id = 2",
        f"DELETE FROM {required} WHERE id = 2",
        f"DELETE FROM {people} WHERE id = 2",
    ]
    return Scenario("constraints", schema, tuple(statements))
