"""Missing rights and masked columns of the tables that snapshots copy."""

import itertools
from pathlib import Path

from agent.check.rights import check_snapshot_rights
from agent.config.loader import AgentConfig, load_config
from commitlog.masking import Rights, mask_problem
from tests.support.agents.minimal_configuration import minimal_configuration

TABLES = ("shop.orders", "shop.cards")
PLACES = ("<table shop.orders>", "<keyspace shop>")


def config(folder: Path, mode: str) -> AgentConfig:
    login = {"cassandra.username": "cdc", "cassandra.password": "secret"}
    return load_config([minimal_configuration(folder, {"snapshot.mode": mode, **login})])


def test_check_warns_of_every_table_that_a_snapshot_rejects(tmp_path: Path) -> None:
    """For each combination of rights and masks."""
    initial = config(tmp_path, "initial")
    places = [frozenset[str](), *(frozenset({place}) for place in PLACES)]
    masks: list[dict[str, tuple[str, ...]]] = [
        {},
        {"shop.orders": ("a", "b")},
        dict.fromkeys(TABLES, ("a",)),
    ]
    for readable, unmasked, masked in itertools.product(places, places, masks):
        rights = Rights(readable=readable, unmasked=unmasked)
        found = list(check_snapshot_rights(initial, rights, TABLES, masked))
        rejected = [
            table for table in TABLES if mask_problem(table, masked.get(table, ()), rights, "cdc")
        ]
        warned = [each for each in found if each.code == "snapshot_columns_masked"]
        assert [each.message.split(" ")[0] for each in warned] == rejected
        assert all(
            f'GRANT UNMASK ON {table} TO "cdc";' in each.remedy
            for table, each in zip(rejected, warned, strict=True)
        )


def test_no_finding_without_snapshots_or_authorization(tmp_path: Path) -> None:
    masked = {"shop.orders": ("a",)}
    assert not list(check_snapshot_rights(config(tmp_path, "never"), Rights(), TABLES, masked))
    assert not list(check_snapshot_rights(config(tmp_path, "initial"), None, TABLES, masked))
