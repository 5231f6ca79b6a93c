"""The names of the tables that a schema knows."""

from commitlog import Schema


def names(schema: Schema | None) -> set[str]:
    assert schema is not None
    return {table.name for table in schema.tables()}
