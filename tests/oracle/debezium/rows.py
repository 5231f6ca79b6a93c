"""Cases: rows, deletions, batches, static columns, times."""

from tests.oracle.debezium.case import KEYSPACE, Case, Chapter
from tests.support.workloads.scenario import batch

_K = KEYSPACE
_PLAIN, _SINGLE, _STATIC = f"{_K}.plain", f"{_K}.single", f"{_K}.statics"
_COMPOSITE, _TWO, _ONLY = f"{_K}.composite", f"{_K}.two", f"{_K}.keys_only"
_EARLY, _LATE = 1_700_000_000_000_100, 1_700_000_000_000_200

_SCHEMA = (
    f"CREATE TABLE {_PLAIN} (p int, c int, name text, amount bigint, PRIMARY KEY (p, c)) "
    "WITH cdc = true",
    f"CREATE TABLE {_SINGLE} (p int PRIMARY KEY, v text, w int) WITH cdc = true",
    f"CREATE TABLE {_STATIC} (p int, c int, s text STATIC, t list<int> STATIC, v text, "
    "PRIMARY KEY (p, c)) WITH cdc = true",
    f"CREATE TABLE {_COMPOSITE} (a int, b text, c timestamp, v int, PRIMARY KEY ((a, b), c)) "
    "WITH cdc = true",
    f"CREATE TABLE {_TWO} (p int, c int, v text, PRIMARY KEY (p, c)) WITH cdc = true",
    f"CREATE TABLE {_ONLY} (p int, c int, PRIMARY KEY (p, c)) WITH cdc = true",
    f"CREATE TABLE {_K}.key_only (p int PRIMARY KEY) WITH cdc = true",
    f"CREATE TABLE {_K}.not_captured (p int, c int, v text, PRIMARY KEY (p, c))",
    f"CREATE TABLE {_K}.hits (p int PRIMARY KEY, n counter) WITH cdc = true",
    f'CREATE TABLE {_K}.quoted (p int PRIMARY KEY, "Mixed Case" text, "größe" int, "a.b" int) '
    "WITH cdc = true",
    f'CREATE TABLE {_K}."MixedCase" ("P" int PRIMARY KEY, "V" int) WITH cdc = true',
    f"CREATE TABLE {_K}.altered (p int PRIMARY KEY, v text) WITH cdc = true",
)


def _insert(table: str, p: int, c: int, using: str = "", name: str = "n") -> str:
    return (
        f"INSERT INTO {table} (p, c, {'name' if table == _PLAIN else 'v'}) "
        f"VALUES ({p}, {c}, '{name}'){using}"
    )


def _delete(table: str, where: str, time_us: int | None = None) -> str:
    using = "" if time_us is None else f" USING TIMESTAMP {time_us}"
    return f"DELETE FROM {table}{using} WHERE {where}"


_ROWS = (
    Case("insert", (f"INSERT INTO {_PLAIN} (p, c, name, amount) VALUES (1, 1, 'a', 10)",)),
    Case("update", (f"UPDATE {_PLAIN} SET name = 'b' WHERE p = 1 AND c = 1",)),
    Case("row delete", (_delete(_PLAIN, "p = 1 AND c = 1"),)),
    Case("row deletes with IN", (_delete(_PLAIN, "p = 1 AND c IN (4, 5, 6)"),)),
    Case("range delete, both bounds", (_delete(_PLAIN, "p = 1 AND c >= 2 AND c < 5"),)),
    Case("range delete, the other bounds", (_delete(_PLAIN, "p = 1 AND c > 2 AND c <= 5"),)),
    Case("partition delete", (_delete(_PLAIN, "p = 1"),)),
    Case("partition deletes with IN", (_delete(_PLAIN, "p IN (2, 3)"),)),
    Case("range delete, lower bound only", (_delete(_PLAIN, "p = 1 AND c > 7"),)),
    Case("range delete, upper bound only", (_delete(_PLAIN, "p = 1 AND c <= 3"),)),
    Case("cell delete", (f"DELETE name FROM {_PLAIN} WHERE p = 1 AND c = 3",)),
    Case("two cells deleted", (f"DELETE name, amount FROM {_PLAIN} WHERE p = 1 AND c = 3",)),
    Case(
        "update of a row that was never inserted",
        (f"UPDATE {_PLAIN} SET amount = 5 WHERE p = 2 AND c = 9",),
    ),
    Case("insert of the primary key only", (f"INSERT INTO {_PLAIN} (p, c) VALUES (3, 1)",)),
    Case("insert with one of two columns", (_insert(_PLAIN, 3, 2),)),
    Case(
        "null written by insert",
        (f"INSERT INTO {_PLAIN} (p, c, name, amount) VALUES (7, 1, null, 1)",),
    ),
    Case("null written by update", (f"UPDATE {_PLAIN} SET name = null WHERE p = 7 AND c = 1",)),
    Case("insert with TTL", (_insert(_PLAIN, 8, 1, " USING TTL 3600"),)),
    Case(
        "insert of the key only with TTL",
        (f"INSERT INTO {_ONLY} (p, c) VALUES (8, 1) USING TTL 9",),
    ),
    Case(
        "update with TTL", (f"UPDATE {_PLAIN} USING TTL 3600 SET name = 't' WHERE p = 8 AND c = 1",)
    ),
    Case(
        "two TTLs in one row",
        (
            batch(
                _insert(_PLAIN, 8, 2, " USING TTL 1000000"),
                f"UPDATE {_PLAIN} USING TTL 5000000 SET amount = 1 WHERE p = 8 AND c = 2",
            ),
        ),
    ),
    Case("insert with explicit timestamp", (_insert(_PLAIN, 9, 1, f" USING TIMESTAMP {_EARLY}"),)),
    Case("timestamp zero", (_insert(_PLAIN, 9, 2, " USING TIMESTAMP 0"),)),
    Case("negative timestamp", (_insert(_PLAIN, 9, 3, " USING TIMESTAMP -5000"),)),
    Case(
        "timestamp and TTL",
        (_insert(_PLAIN, 9, 4, f" USING TIMESTAMP {_EARLY} AND TTL 4000000"),),
    ),
    Case("conditional insert", (f"{_insert(_PLAIN, 10, 1, name='lwt')} IF NOT EXISTS",)),
    Case(
        "conditional update",
        (f"UPDATE {_PLAIN} SET name = 'x' WHERE p = 10 AND c = 1 IF name = 'lwt'",),
    ),
    Case(
        "conditional update, not applied",
        (f"UPDATE {_PLAIN} SET name = 'y' WHERE p = 10 AND c = 1 IF name = 'z'",),
    ),
    Case("conditional delete", (f"DELETE FROM {_PLAIN} WHERE p = 10 AND c = 1 IF EXISTS",)),
    Case(
        "keys only: insert, row delete, range delete, partition delete",
        (
            f"INSERT INTO {_ONLY} (p, c) VALUES (1, 1)",
            _delete(_ONLY, "p = 1 AND c = 1"),
            _delete(_ONLY, "p = 1 AND c > 1"),
            _delete(_ONLY, "p = 1"),
            f"INSERT INTO {_K}.key_only (p) VALUES (1)",
            _delete(f"{_K}.key_only", "p = 1"),
        ),
    ),
)

_SINGLE_ROWS = (
    Case("insert, no clustering", (f"INSERT INTO {_SINGLE} (p, v) VALUES (1, 'a')",)),
    Case("update, no clustering", (f"UPDATE {_SINGLE} SET w = 1 WHERE p = 1",)),
    Case("delete, no clustering", (_delete(_SINGLE, "p = 1"),)),
    Case("empty text", (f"INSERT INTO {_SINGLE} (p, v) VALUES (2, '')",)),
    Case(
        "delete and reinsert in one batch, no clustering",
        (
            batch(
                _delete(_SINGLE, "p = 3", _EARLY),
                f"INSERT INTO {_SINGLE} (p, v) VALUES (3, 'new') USING TIMESTAMP {_LATE}",
            ),
        ),
    ),
    Case(
        "mixed-case column name",
        (f'INSERT INTO {_K}.quoted (p, "Mixed Case", "größe", "a.b") VALUES (1, \'q\', 2, 3)',),
    ),
    Case(
        "mixed-case table and key",
        (
            f'INSERT INTO {_K}."MixedCase" ("P", "V") VALUES (1, 2)',
            f'DELETE FROM {_K}."MixedCase" WHERE "P" = 1',
        ),
    ),
    Case(
        "column added by ALTER TABLE, then insert",
        (
            f"INSERT INTO {_K}.altered (p, v) VALUES (1, 'before')",
            f"ALTER TABLE {_K}.altered ADD extra int",
            f"INSERT INTO {_K}.altered (p, v, extra) VALUES (2, 'after', 4)",
        ),
    ),
    Case("truncate", (f"TRUNCATE {_SINGLE}",)),
    Case("insert into a table without CDC", (_insert(f"{_K}.not_captured", 1, 1),)),
    Case("counter update", (f"UPDATE {_K}.hits SET n = n + 1 WHERE p = 1",)),
    Case(
        "composite partition key",
        (
            f"INSERT INTO {_COMPOSITE} (a, b, c, v) VALUES (1, 'p', '2024-02-29T12:34:56.789Z', 1)",
            f"UPDATE {_COMPOSITE} SET v = 2 WHERE a = 1 AND b = '' AND c = 0",
            f"DELETE v FROM {_COMPOSITE} WHERE a = 1 AND b = 'p' AND c = -1",
            _delete(_COMPOSITE, "a = 1 AND b = 'p' AND c = '2024-02-29T12:34:56.789Z'"),
            _delete(
                _COMPOSITE,
                "a = 1 AND b = 'p' AND c >= '2024-01-01T00:00:00Z' AND c < 1709251200000",
            ),
        ),
    ),
    Case("composite partition key, partition delete", (_delete(_COMPOSITE, "a = 1 AND b = 'p'"),)),
)

_BATCHES = (
    Case(
        "row delete and reinsert in one batch, two timestamps",
        (
            batch(
                _delete(_PLAIN, "p = 5 AND c = 1", _EARLY),
                _insert(_PLAIN, 5, 1, f" USING TIMESTAMP {_LATE}"),
            ),
        ),
    ),
    Case(
        "row delete and reinsert in one batch, one timestamp",
        (batch(_delete(_PLAIN, "p = 5 AND c = 2"), _insert(_PLAIN, 5, 2)),),
    ),
    Case(
        "row delete and update in one batch",
        (
            batch(
                _delete(_PLAIN, "p = 5 AND c = 3", _EARLY),
                f"UPDATE {_PLAIN} USING TIMESTAMP {_LATE} SET amount = 3 WHERE p = 5 AND c = 3",
            ),
        ),
    ),
    Case(
        "partition delete and reinsert in one batch",
        (
            batch(
                _delete(_PLAIN, "p = 55", _EARLY),
                _insert(_PLAIN, 55, 1, f" USING TIMESTAMP {_LATE}"),
            ),
        ),
    ),
    Case(
        "range delete and insert inside the range in one batch",
        (
            batch(
                _delete(_PLAIN, "p = 56 AND c >= 1 AND c <= 9", _EARLY),
                _insert(_PLAIN, 56, 5, f" USING TIMESTAMP {_LATE}"),
            ),
        ),
    ),
    Case(
        "range delete and insert outside the range in one batch",
        (
            batch(
                _delete(_PLAIN, "p = 56 AND c >= 1 AND c <= 9"),
                _insert(_PLAIN, 56, 0),
                _insert(_PLAIN, 56, 10),
            ),
        ),
    ),
    Case(
        "two range deletes in one batch",
        (
            batch(
                _delete(_PLAIN, "p = 57 AND c >= 1 AND c < 3"),
                _delete(_PLAIN, "p = 57 AND c >= 6 AND c < 8"),
            ),
        ),
    ),
    Case(
        "adjoining ranges with one timestamp in one batch",
        (
            batch(
                _delete(_PLAIN, "p = 58 AND c >= 1 AND c < 3"),
                _delete(_PLAIN, "p = 58 AND c >= 3 AND c < 8"),
            ),
        ),
    ),
    Case(
        "row delete in a deleted range, one timestamp",
        (batch(_delete(_TWO, "p = 70 AND c = 1"), _delete(_TWO, "p = 70 AND c >= 1 AND c < 4")),),
    ),
    Case(
        "partition delete and range delete in one batch",
        (
            batch(
                _delete(_TWO, "p = 71", _EARLY), _delete(_TWO, "p = 71 AND c >= 1 AND c < 4", _LATE)
            ),
        ),
    ),
    Case("several rows in one batch", (batch(*(_insert(_PLAIN, 60, c) for c in range(1, 5))),)),
    Case(
        "several rows with several timestamps in one batch",
        (
            batch(
                _insert(_PLAIN, 61, 1, f" USING TIMESTAMP {_EARLY}"),
                _insert(_PLAIN, 61, 2, f" USING TIMESTAMP {_LATE}"),
            ),
        ),
    ),
    Case(
        "insert, update and cell delete of one row in one batch",
        (
            batch(
                _insert(_PLAIN, 62, 1),
                f"UPDATE {_PLAIN} SET amount = 7 WHERE p = 62 AND c = 1",
                f"DELETE name FROM {_PLAIN} WHERE p = 62 AND c = 1",
            ),
        ),
    ),
    Case(
        "several partitions in one batch", (batch(*(_insert(_PLAIN, p, 1) for p in (63, 64, 65))),)
    ),
    Case(
        "unlogged batch", (batch(_insert(_PLAIN, 66, 1), _insert(_PLAIN, 66, 2), kind="UNLOGGED"),)
    ),
    Case(
        "batch over a CDC and another table, same key",
        (batch(_insert(_PLAIN, 67, 1), _insert(f"{_K}.not_captured", 67, 1)),),
    ),
    Case(
        "batch over two CDC tables",
        (batch(_insert(_PLAIN, 68, 1), f"INSERT INTO {_SINGLE} (p, v) VALUES (68, 'two')"),),
    ),
)

_STATICS = (
    Case("static column update", (f"UPDATE {_STATIC} SET s = 'x' WHERE p = 1",)),
    Case(
        "static column and row in one insert",
        (f"INSERT INTO {_STATIC} (p, c, s, v) VALUES (1, 1, 'st', 'v')",),
    ),
    Case("static column delete", (f"DELETE s FROM {_STATIC} WHERE p = 1",)),
    Case("static list", (f"UPDATE {_STATIC} SET t = t + [1] WHERE p = 1",)),
    Case(
        "static column with a row delete in one batch",
        (batch(f"UPDATE {_STATIC} SET s = 'y' WHERE p = 2", _delete(_STATIC, "p = 2 AND c = 1")),),
    ),
    Case("row, not touching the static column", (_insert(_STATIC, 1, 2),)),
    Case(
        "row update beside a static column",
        (f"UPDATE {_STATIC} SET v = 'w' WHERE p = 1 AND c = 2",),
    ),
    Case("row delete beside a static column", (_delete(_STATIC, "p = 1 AND c = 2"),)),
    Case("range delete beside a static column", (_delete(_STATIC, "p = 1 AND c > 2"),)),
    Case("partition delete with a static column", (_delete(_STATIC, "p = 1"),)),
)

ROWS = Chapter(
    "Rows, deletions, batches, times", _SCHEMA, (*_ROWS, *_SINGLE_ROWS, *_BATCHES, *_STATICS)
)
