"""Workloads are functions of their seeds, and have what they promise."""

import re
from collections import Counter

import pytest

from tests.support.workloads import (
    SCENARIOS,
    random_statements,
    random_tables,
    scenario,
    schema_statements,
    shop,
)

SEEDS = range(20)
KINDS = {
    "insert": r"\bINSERT INTO ",
    "update": r"\bUPDATE ",
    "deleted cells": r"\bDELETE v\d",
    "deleted element": r"\bDELETE [^;]*v\d\[",
    "deleted static": r"\bDELETE s\d",
    "written static": r"SET s\d",
    "deleted whole": r"\bDELETE FROM ",
    "deleted range": r"\bDELETE FROM [^;]* c\d [<>]",
    "deleted row": r"\bDELETE FROM [^;<>]* c\d = [^;<>]*$",
    "deleted partition": r"^DELETE FROM random\.t\d( USING TIMESTAMP \d+)? WHERE p0 = [^ ]+$",
    "appended": r"= v\d \+ ",
    "removed": r"= v\d - ",
    "TTL": r"USING [^;]*TTL ",
    "explicit time": "USING TIMESTAMP",
    "logged batch": "^BEGIN BATCH",
    "unlogged batch": "^BEGIN UNLOGGED BATCH",
    "null": "= null|, null",
}


@pytest.mark.parametrize("seed", SEEDS)
def test_random_tables_have_all_shapes(seed: int) -> None:
    tables = random_tables(seed)
    assert tables == random_tables(seed)
    assert len(tables) == 10
    assert any(not table.clustering for table in tables)
    assert any(len(table.clustering) > 2 for table in tables)
    assert any(len(table.partition) > 1 for table in tables)
    assert any(table.static for table in tables)
    assert any(not table.regular for table in tables)
    assert any(column.type.is_multi_cell for table in tables for column in table.regular)
    assert all("read_repair = 'NONE'" in table.create for table in tables)
    assert len(schema_statements(tables)) == 13


def test_random_tables_have_both_orders() -> None:
    orders = {
        down for seed in SEEDS for table in random_tables(seed) for down in table.is_descending
    }
    assert orders == {True, False}


@pytest.mark.parametrize("seed", SEEDS)
def test_random_statements_have_all_kinds(seed: int) -> None:
    statements = random_statements(seed, 2000)
    assert statements[:100] == random_statements(seed, 100)
    missing = [
        kind
        for kind, pattern in KINDS.items()
        if not any(re.search(pattern, statement) for statement in statements)
    ]
    assert missing == []


def test_explicit_times_tie() -> None:
    times = Counter(
        time for text in random_statements(1, 500) for time in re.findall(r"TIMESTAMP (\d+)", text)
    )
    assert times.most_common(1)[0][1] > 2


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("release", [(3, 11), (4, 0), (4, 1), (5, 0)])
def test_scenarios_are_functions_of_the_seed(name: str, release: tuple[int, int]) -> None:
    found = scenario(name, release)
    assert found == scenario(name, release)
    assert found.schema[0].startswith("CREATE KEYSPACE")
    assert len(found.statements) > 20
    if release < (5, 0):
        assert not any("vector<" in statement for statement in found.schema)


@pytest.mark.parametrize("release", [(3, 11), (4, 0), (4, 1), (5, 0)])
def test_types_can_be_made_of_any_seed(release: tuple[int, int]) -> None:
    for seed in range(100):
        assert scenario("types", release, seed).statements


def test_the_shop_is_the_same_every_time() -> None:
    assert shop.statements() == shop.statements()
    assert len(shop.page_view(3)[1]) > 100_000
