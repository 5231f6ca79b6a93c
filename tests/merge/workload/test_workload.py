"""The random workload covers what it should, and repeats itself for a seed."""

from collections import Counter
from random import Random

from tests.merge.workload.statements import Statement, StatementSource
from tests.merge.workload.tables import RandomSchema, random_schema

NOW_US = 1_800_000_000_000_000


def made(seed: int, count: int) -> tuple[RandomSchema, list[Statement]]:
    random = Random(seed)
    schema = random_schema(random, NOW_US, release=(5, 0))
    source = StatementSource(random, schema)
    return schema, [source.next() for _ in range(count)]


def test_a_seed_gives_the_same_again() -> None:
    schema, statements = made(7, 200)
    again, statements_again = made(7, 200)
    other, _ = made(8, 0)
    assert schema.statements() == again.statements() != other.statements()
    # By their texts, for NaN is not equal to itself.
    assert repr(statements) == repr(statements_again)


def test_every_kind_of_write_is_made() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(5):
        _, statements = made(seed, 400)
        kinds.update(write.kind for statement in statements for write in statement.writes)
        kinds.update(statement.kind for statement in statements if statement.batch)
    assert kinds.keys() == {
        "insert",
        "insert static",
        "update",
        "update static",
        "delete cells",
        "delete static",
        "delete row",
        "delete range",
        "delete partition",
        "logged batch",
        "unlogged batch",
    }


def test_there_are_ten_cdc_tables_and_one_without() -> None:
    schema, _ = made(1, 0)
    assert [table.has_cdc for table in schema.tables] == [True] * 10 + [False]
    assert len(schema.statements()) == 1 + 2 + 11
