"""A reader never accepts a masked page: a model of a node with masks, rights and caches."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from commitlog.masking import MaskGuard, Rights, mask_problem, masked_columns, rights_of, validity_s

TABLES = ("shop.orders", 'Shop."Cards"', "other.orders")
RESOURCES = (
    "<all keyspaces>",
    *("<keyspace shop>", "<keyspace other>", "<all tables in shop>"),
    *(f"<table {table}>" for table in TABLES),
)
ROLES = ("reader", "group")
STEPS = 400


class ModelNode:
    """A node whose coordinator remembers rights for `validity_s` after each change."""

    def __init__(self, draw: random.Random, *, release: int = 5) -> None:
        self.draw = draw
        self.release = release
        self.now_s = 0.0
        self.validity_s = draw.choice([0.5, 2, 60])
        self.masks: dict[str, set[str]] = {}
        self.granted: set[tuple[str, str, str]] = set()
        self.superusers: set[str] = set()
        self.remembered: Rights = Rights()
        self.expires_s = 0.0

    def ask(self, cql: str) -> Sequence[dict[str, Any]]:
        if "table_name = 'column_masks'" in cql:
            return [{"table_name": "column_masks"}] if self.release >= 5 else []
        if "column_masks" in cql:
            assert self.release >= 5
            return [
                {
                    "keyspace_name": table.partition(".")[0],
                    "table_name": table.partition(".")[2],
                    "column_name": column,
                }
                for table, columns in self.masks.items()
                for column in columns
            ]
        if cql.startswith("LIST ROLES"):
            return [{"role": role, "super": role in self.superusers} for role in ROLES]
        if cql.startswith("LIST ALL PERMISSIONS OF"):
            return [
                {"role": role, "permission": right, "resource": place}
                for role, right, place in self.granted
            ]
        assert "permissions_validity" in cql
        return [{"value": f"{int(self.validity_s * 1000)}ms"}]

    def has_masks(self, table: str) -> bool:
        """Whether the node would mask a page now."""
        if self.now_s >= self.expires_s:
            self.remembered = rights_of(self.ask("LIST ROLES"), self.ask("LIST ALL PERMISSIONS OF"))
            self.expires_s = self.now_s + self.validity_s
        return bool(self.masks.get(table)) and not self.remembered.can_unmask(table)

    def change(self) -> None:
        """One operator statement, which takes a second or more."""
        self.pause(self.draw.choice([1.1, 3, 30]))
        table, column = self.draw.choice(TABLES), self.draw.choice("abc")
        right = (
            self.draw.choice(ROLES),
            self.draw.choice(["UNMASK", "SELECT", "SELECT_MASKED", "ALL"]),
            self.draw.choice(RESOURCES),
        )
        match self.draw.randrange(4):
            case 0:
                self.masks.setdefault(table, set()).add(column)
            case 1:
                self.granted.add(right)
            case 2:
                self.granted -= {each for each in self.granted if self.draw.random() < 0.5}
            case _:
                self.superusers ^= {self.draw.choice(ROLES)} if self.draw.random() < 0.1 else set()

    def pause(self, seconds: float) -> None:
        self.now_s += seconds


def read(node: ModelNode, guard: MaskGuard, table: str, *, changes: bool) -> bool | None:
    """Whether an accepted page has masks; None for a rejected page."""
    if guard.before(table):
        return None
    # Two statements during one page could cancel each other.
    number = node.draw.randrange(3) if changes else 2
    if number == 0:
        node.change()
    has_masks = node.has_masks(table)
    if number == 1:
        node.change()
    return None if guard.after(table) else has_masks


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("role", ["reader", None])
def test_accepted_page_contains_no_masks(seed: int, role: str | None) -> None:
    """The operator changes masks and rights before, during and after a read."""
    node = ModelNode(random.Random(seed))
    guard = MaskGuard(node.ask, role, clock=lambda: node.now_s, pause=node.pause)
    accepted = 0
    for _ in range(STEPS):
        node.change()
        has_masks = read(node, guard, node.draw.choice(TABLES), changes=True)
        assert not has_masks
        accepted += has_masks is not None
    assert accepted


@pytest.mark.parametrize("seed", range(20))
def test_granted_table_is_read(seed: int) -> None:
    """The statement in the message ends the rejection."""
    node = ModelNode(random.Random(seed))
    guard = MaskGuard(node.ask, "reader", clock=lambda: node.now_s, pause=node.pause)
    for table in TABLES:
        node.masks[table] = {"a"}
        assert "GRANT UNMASK ON" in guard.before(table)
        node.granted.add(("reader", "UNMASK", f"<table {table}>"))
        assert read(node, guard, table, changes=False) is False


def test_older_release_has_no_masks() -> None:
    assert masked_columns(ModelNode(random.Random(1), release=4).ask) == {}


def test_grant_statement_contains_role_and_table() -> None:
    problem = mask_problem("Shop.Cards", ["b", "a"], Rights(), 'of "x"')
    assert problem.endswith('GRANT UNMASK ON "Shop"."Cards" TO "of ""x""";')
    assert "(a, b)" in problem
    # Without authorization every role reads values.
    assert mask_problem("a.b", ["c"], None, None) == ""


@pytest.mark.parametrize(
    ("value", "seconds"), [("2000ms", 2), ("1m", 60), ("off", 2), ("3h", 10_800)]
)
def test_validity_of_rights_is_read_from_node(value: str, seconds: float) -> None:
    assert validity_s(lambda _: [{"value": value}]) == seconds
    assert validity_s(lambda _: []) == 2
