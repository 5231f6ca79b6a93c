"""Pure functions that find published tables whose writes bypass the node's commit log.

Sources: Cassandra's `TxnWrite` and `CassandraKeyspaceWriteHandler` for transactions, CEP-45 for
mutation tracking, `KeyspaceParams` for `durable_writes`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from agent.schema.write_options import (
    DURABLE_WRITES,
    REPLICATION_TYPE,
    TRANSACTIONAL_MIGRATION_FROM,
    TRANSACTIONAL_MODE,
    WriteOptions,
)
from commitlog.masking import cql_identifier
from sidecar.check.check import Finding, fault, first_names, ok, warning

SUBJECT = "unlogged writes"


class Reason(StrEnum):
    """Why a write does not reach the commit log."""

    DURABLE_WRITES = "durable_writes"
    """The keyspace has `durable_writes = false`."""
    MUTATION_TRACKING = "mutation_tracking"
    """The keyspace has `replication_type = 'tracked'`: writes go to the mutation journal."""
    TRANSACTIONAL_MODE = "transactional_mode"
    """Transactions, and in most modes all writes, go through Accord and its journal."""
    TRANSACTIONAL_MIGRATION = "transactional_migration"
    """Token ranges that have not yet migrated away from Accord still write through it."""


_TRANSACTIONS = frozenset((Reason.TRANSACTIONAL_MODE, Reason.TRANSACTIONAL_MIGRATION))
_CAPTURED_MODES = ("full", "mixed_reads")


@dataclass(frozen=True, slots=True)
class UnloggedTable:
    """A table with one reason why its writes bypass the commit log."""

    keyspace: str
    table: str
    reason: Reason
    option: str
    """The option with its value, as CQL."""

    @property
    def name(self) -> str:
        return f"{self.keyspace}.{self.table}"

    @property
    def is_captured(self) -> bool:
        """Whether an agent that reads Accord's journal captures these writes."""
        modes = tuple(f"'{mode}'" for mode in _CAPTURED_MODES)
        return self.reason in _TRANSACTIONS and self.option.endswith(modes)

    @property
    def remedy(self) -> str:
        # With table names, nodetool of 6.0-alpha2 fails (NotSerializableException).
        finish = f"`nodetool consensus_admin finish-migration {self.keyspace}`"
        keyspace = cql_identifier(self.keyspace)
        match self.reason:
            case Reason.DURABLE_WRITES:
                return f"ALTER KEYSPACE {keyspace} WITH durable_writes = true;"
            case Reason.MUTATION_TRACKING:
                return f"ALTER KEYSPACE {keyspace} WITH replication_type = 'untracked';"
            case Reason.TRANSACTIONAL_MODE:
                table = f"{keyspace}.{cql_identifier(self.table)}"
                alter = f"ALTER TABLE {table} WITH transactional_mode = 'off';"
                return f"{alter} and then {finish}."
            case Reason.TRANSACTIONAL_MIGRATION:
                return f"Complete the migration to transactional_mode = 'off': {finish}."


@dataclass(frozen=True, slots=True)
class UnloggedWrites:
    """The published tables with writes that bypass the commit log."""

    tables: tuple[UnloggedTable, ...] = ()
    unknown: str = ""
    """Why the result is incomplete; empty if all published tables were checked."""
    is_rejected: bool = False
    """True if the node answers but does not report the options."""

    @property
    def table_count(self) -> int | None:
        """Number of tables; None if the result is incomplete and contains no table."""
        if self.unknown and not self.tables:
            return None
        return len({each.name for each in self.tables})


def unlogged_writes(
    options: WriteOptions | None, published: Iterable[str], *, captures_transactions: bool = False
) -> UnloggedWrites:
    """Applies the options to tables (`keyspace.table`). `options` is None until the node or
    `schema.file` has been read. `captures_transactions`: the agent reads Accord's journal."""
    if options is None:
        return UnloggedWrites(unknown="neither the node nor schema.file has been read yet.")
    # A dropped table stays in the schema, because segments may still contain its changes.
    names = [name for name in published if name in options.tables]
    reasons = (each for name in names for each in _reasons(name, options))
    found = tuple(each for each in reasons if not (captures_transactions and each.is_captured))
    # schema.file can contain a table but not its keyspace.
    missing = set(map(_keyspace, names)) - set(options.keyspaces)
    unknown = options.error
    if missing and not unknown:
        shown = first_names(sorted(missing))
        unknown = f"schema.file has no CREATE KEYSPACE for {shown}, so durable_writes is unknown."
    return UnloggedWrites(found, unknown, is_rejected=bool(options.error))


def check_unlogged_writes(unlogged: UnloggedWrites) -> Iterator[Finding]:
    if unlogged.tables:
        yield bypass_finding(unlogged.tables)
    if unlogged.unknown:
        yield unknown_finding(unlogged.unknown)
    if not unlogged.tables and not unlogged.unknown:
        yield ok(SUBJECT, "The agent can read all writes of the published tables.")


def bypass_finding(tables: Sequence[UnloggedTable]) -> Finding:
    """Creates the fault for a non-empty sequence of tables."""
    shown = first_names([f"{each.name} ({each.option})" for each in tables])
    first = {each.reason: each for each in reversed(tables)}
    remedies = " ".join(first[reason].remedy for reason in Reason if reason in first)
    count = len({each.name for each in tables})
    return fault(
        SUBJECT,
        f"Writes of {count} published table{'' if count == 1 else 's'} bypass the node's commit "
        f"log, so the agent cannot capture them: {shown}.",
        f"{remedies} Or add the tables to table.exclude.list.",
        code="writes_bypass_commitlog",
    )


def unknown_finding(reason: str) -> Finding:
    return warning(
        SUBJECT,
        f"The agent cannot determine whether writes bypass the commit log: {reason}",
        "Let the agent connect to the node, or write the output of DESCRIBE SCHEMA WITH INTERNALS "
        "to schema.file.",
        code="unlogged_writes_unknown",
    )


_LOGGED = {
    Reason.DURABLE_WRITES: (DURABLE_WRITES, "true"),
    Reason.MUTATION_TRACKING: (REPLICATION_TYPE, "untracked"),
    Reason.TRANSACTIONAL_MODE: (TRANSACTIONAL_MODE, "off"),
    Reason.TRANSACTIONAL_MIGRATION: (TRANSACTIONAL_MIGRATION_FROM, "none"),
}
"""The option of each reason, and its value with which the node logs all writes."""


def _reasons(name: str, options: WriteOptions) -> Iterator[UnloggedTable]:
    keyspace, _, table = name.partition(".")
    found = {**options.keyspaces.get(keyspace, {}), **options.tables[name]}
    if found.get(TRANSACTIONAL_MODE, "off") != "off":
        # The mode covers the migration.
        found.pop(TRANSACTIONAL_MIGRATION_FROM, None)
    for reason, (option, logged) in _LOGGED.items():
        if (value := found.get(option, logged)) != logged:
            # durable_writes is a boolean; the other options are strings.
            written = value if option == DURABLE_WRITES else f"'{value}'"
            yield UnloggedTable(keyspace, table, reason, f"{option} = {written}")


def _keyspace(name: str) -> str:
    return name.partition(".")[0]
