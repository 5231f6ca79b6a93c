"""Published tables whose writes bypass the commit log, and their findings."""

import pytest

from agent.check.unlogged import (
    Reason,
    UnloggedTable,
    UnloggedWrites,
    check_unlogged_writes,
    unlogged_writes,
)
from agent.schema.write_options import Options, WriteOptions, options_from_cql
from sidecar.check.check import Level

DURABLE: Options = {"durable_writes": "true"}


def of(keyspace: Options, table: Options) -> UnloggedWrites:
    return unlogged_writes(WriteOptions({"ks": keyspace}, {"ks.t": table}), ["ks.t"])


@pytest.mark.parametrize(
    ("keyspace", "table", "reason", "option"),
    [
        ({"durable_writes": "false"}, {}, "durable_writes", "durable_writes = false"),
        (
            {**DURABLE, "replication_type": "tracked"},
            {},
            "mutation_tracking",
            "replication_type = 'tracked'",
        ),
        *(
            (
                DURABLE,
                {"transactional_mode": mode, "transactional_migration_from": "off"},
                "transactional_mode",
                f"transactional_mode = '{mode}'",
            )
            for mode in ("full", "mixed_reads", "test_unsafe", "of_a_later_release")
        ),
        (
            DURABLE,
            {"transactional_mode": "off", "transactional_migration_from": "full"},
            "transactional_migration",
            "transactional_migration_from = 'full'",
        ),
    ],
)
def test_each_bypass_reason_reports_option_and_remedy(
    keyspace: Options, table: Options, reason: str, option: str
) -> None:
    found = of(keyspace, table)
    assert found == UnloggedWrites((UnloggedTable("ks", "t", Reason(reason), option),))
    assert found.table_count == 1
    (finding,) = check_unlogged_writes(found)
    assert (finding.level, finding.code) == (Level.FAULT, "writes_bypass_commitlog")
    assert f"ks.t ({option})" in finding.message
    assert "table.exclude.list" in finding.remedy


@pytest.mark.parametrize(
    "table", [{}, {"transactional_mode": "off", "transactional_migration_from": "none"}]
)
def test_ordinary_writes_pass_the_check(table: Options) -> None:
    found = of({**DURABLE, "replication_type": "untracked"}, table)
    assert (found, found.table_count) == (UnloggedWrites(), 0)
    (finding,) = check_unlogged_writes(found)
    assert finding.level is Level.OK


def test_two_reasons_count_one_table_and_list_both_remedies() -> None:
    found = of({"durable_writes": "false"}, {"transactional_mode": "full"})
    assert [each.reason for each in found.tables] == [
        Reason.DURABLE_WRITES,
        Reason.TRANSACTIONAL_MODE,
    ]
    assert found.table_count == 1
    (finding,) = check_unlogged_writes(found)
    assert finding.remedy == (
        "ALTER KEYSPACE ks WITH durable_writes = true; "
        "ALTER TABLE ks.t WITH transactional_mode = 'off'; "
        "and then `nodetool consensus_admin finish-migration ks`. "
        "Or add the tables to table.exclude.list."
    )


def test_names_in_statements_are_quoted() -> None:
    options = options_from_cql(
        'CREATE KEYSPACE "Shop" WITH durable_writes = true;'
        'CREATE TABLE "Shop"."Or.ders" (k int) WITH transactional_mode = \'full\';'
    )
    (finding,) = check_unlogged_writes(unlogged_writes(options, ["Shop.Or.ders"]))
    assert 'ALTER TABLE "Shop"."Or.ders" WITH' in finding.remedy


@pytest.mark.parametrize(
    ("option", "value", "is_captured"),
    [
        ("transactional_mode", "full", True),
        ("transactional_mode", "mixed_reads", True),
        ("transactional_mode", "of_a_later_release", False),
        ("transactional_migration_from", "full", True),
    ],
)
def test_transaction_capture_covers_accord_writes(
    option: str, value: str, is_captured: bool
) -> None:
    options = WriteOptions({"ks": DURABLE}, {"ks.t": {option: value}})
    found = unlogged_writes(options, ["ks.t"], captures_transactions=True)
    assert found.table_count == (0 if is_captured else 1)
    undurable = WriteOptions({"ks": {"durable_writes": "false"}}, {"ks.t": {option: "full"}})
    (reported,) = unlogged_writes(undurable, ["ks.t"], captures_transactions=True).tables
    assert reported.reason == "durable_writes"


def test_only_published_tables_are_checked() -> None:
    """A dropped table remains in the schema because segments still contain its changes."""
    options = WriteOptions({"ks": {"durable_writes": "false"}}, {"ks.t": {}, "ks.u": {}})
    for published in ([], ["gone.t", "ks.gone"]):
        assert unlogged_writes(options, published) == UnloggedWrites()
    assert [each.name for each in unlogged_writes(options, ["ks.u"]).tables] == ["ks.u"]


def test_unlogged_writes_are_unknown_without_usable_answer() -> None:
    without = options_from_cql("CREATE TABLE ks.t (k int PRIMARY KEY) WITH cdc = true;")
    for options, reason in (
        (None, ""),
        (WriteOptions(error="The request timed out."), "The request timed out."),
        (without, "no CREATE KEYSPACE for ks"),
    ):
        found = unlogged_writes(options, ["ks.t"])
        assert found.table_count is None
        assert reason in found.unknown
        (finding,) = check_unlogged_writes(found)
        assert (finding.level, finding.code) == (Level.WARNING, "unlogged_writes_unknown")
        assert found.unknown in finding.message


def test_bypassing_table_counts_despite_unknown_keyspace() -> None:
    options = options_from_cql(
        "CREATE TABLE ks.t (k int PRIMARY KEY) WITH transactional_mode = 'full';"
    )
    found = unlogged_writes(options, ["ks.t"])
    assert found.table_count == 1
    assert [each.code for each in check_unlogged_writes(found)] == [
        "writes_bypass_commitlog",
        "unlogged_writes_unknown",
    ]
