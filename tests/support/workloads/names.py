"""Names that have to be quoted: mixed case, spaces, quotes, other scripts.

Only columns and fields have names outside ASCII: Cassandra announces the name of a new user type in
Latin-1, which closes a driver's connection.
"""


def build_names(keyspace: str, schema: list[str], statements: list[str]) -> None:
    """Adds a user type, a table and a keyspace with such names, and writes to them."""
    schema += [
        f'CREATE TYPE {keyspace}."SizeOf" ("Höhe" int, "with ""quotes""" text)',
        f'CREATE TABLE {keyspace}."Mixed" ("Key" int, "Cl üß" text, "字" int, "select" text, '
        f'"a ""b"" c" int, "GRÖSSE" frozen<"SizeOf">, "S t" text STATIC, '
        'PRIMARY KEY ("Key", "Cl üß")) WITH CLUSTERING ORDER BY ("Cl üß" DESC) AND cdc = true',
        'CREATE KEYSPACE "MixedCase" WITH replication = '
        "{'class': 'SimpleStrategy', 'replication_factor': 1}",
        'CREATE TABLE "MixedCase"."T" (p int PRIMARY KEY, "V" int) WITH cdc = true',
    ]
    table = f'{keyspace}."Mixed"'
    statements += [
        f'INSERT INTO {table} ("Key", "Cl üß", "字", "select", "a ""b"" c", "GRÖSSE", "S t") '
        "VALUES (1, 'ä', 2, 'from', 3, {\"Höhe\": 4, \"with \"\"quotes\"\"\": 'q'}, 'static')",
        f'UPDATE {table} SET "字" = null, "a ""b"" c" = 5 WHERE "Key" = 1 AND "Cl üß" = \'ä\'',
        f'DELETE "select" FROM {table} WHERE "Key" = 1 AND "Cl üß" = \'ä\'',
        f'DELETE FROM {table} WHERE "Key" = 1 AND "Cl üß" >= \'a\' AND "Cl üß" < \'ö\'',
        f'DELETE FROM {table} WHERE "Key" = 1',
        'INSERT INTO "MixedCase"."T" (p, "V") VALUES (1, 2)',
        'DELETE FROM "MixedCase"."T" WHERE p = 1',
    ]
