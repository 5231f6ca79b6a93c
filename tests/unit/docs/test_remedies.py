"""Commands in messages of the programs: each parses as printed, and a test executes it.

A new command without an entry in `EXECUTED` fails. So does a new statement for cqlsh or mongosh
without an entry in `STATEMENTS`.
"""

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

from agent.cli.entry import agent
from mongo_agent.cli.entry import mongo_agent
from sidecar.cli.invocation import Invocation
from sidecar.properties.show import runnable
from tests.support.checks.program_texts import REPOSITORY, texts_of

ROOMS = ("agent", "mongo_agent", "sidecar", "spark_jobs")
PROGRAMS = {"agent": agent, "mongo-agent": mongo_agent}
_WORDS = r"agent|mongo-agent|chgrp|chmod|iconv|kafka-\w+\.sh|mkdir|mv|python -m|setfacl"
_COMMAND = re.compile(rf"`((?:{_WORDS}) [^`]*)`")
_BEGIN_OF_COMMAND = re.compile(rf"`(?:{_WORDS})")
_GENERATED = {"document.py"}
"""Page texts; other tests execute their examples."""

REMEDIES = "acceptance/agent/test_remedies.py"
KAFKA_REMEDIES = "integration/kafka/test_remedies.py"
MONGO_REMEDIES = "integration/mongo_agent/test_remedies.py"
SNAPSHOTS = "integration/snapshot/test_live.py"
MONGO_COMMANDS = "acceptance/mongo_agent/test_commands.py"
REPLACED = "integration/mongo_agent/test_replaced_collections.py"
EXECUTED = {
    "agent quarantine discard NAME": f"{REMEDIES}::test_quarantine_discard_resolves_a_lost_segment",
    "agent quarantine discard {}": f"{REMEDIES}::test_quarantine_discard_resolves_a_lost_segment",
    "agent quarantine list": f"{REMEDIES}::test_quarantine_retry_delivers_a_segment",
    "agent quarantine retry --all": f"{REMEDIES}::test_quarantine_retry_delivers_a_segment",
    "agent quarantine retry {}": f"{REMEDIES}::test_quarantine_retry_delivers_a_segment",
    "agent offsets accept-prefix": f"{REMEDIES}::test_changed_prefix_remedies_resolve_fault",
    "agent offsets reset --snapshots": f"{REMEDIES}::test_changed_prefix_remedies_resolve_fault",
    "agent check": f"{REMEDIES}::test_directory_remedy_resolves_its_fault",
    "agent snapshot start KEYSPACE.TABLE": f"{SNAPSHOTS}::test_requested_snapshots",
    "agent snapshot start {}": f"{SNAPSHOTS}::test_requested_snapshots",
    "agent snapshot stop {}": f"{SNAPSHOTS}::test_snapshot_survives_a_node_kill",
    "mongo-agent check": f"{MONGO_COMMANDS}::test_healthy_agent_passes_all_checks",
    "mongo-agent plan": f"{MONGO_COMMANDS}::test_plan_lists_collections_with_reasons",
    "agent truncations acknowledge {}": "acceptance/agent/test_truncations.py",
    "mongo-agent snapshot start '.*'": f"{MONGO_REMEDIES}::test_lost_changes",
    "mongo-agent snapshot start {} --filter {} QUERY": f"{MONGO_REMEDIES}::test_rejected_filter",
    "mongo-agent snapshot start --replace {}": f"{REPLACED}::test_outdated_topics_are_reported",
    "mongo-agent snapshot stop {}": f"{MONGO_REMEDIES}::test_rejected_filter",
    "mv {}/gaps.ndjson {}/gaps.old": f"{MONGO_REMEDIES}::test_lost_changes",
    "chgrp {} {} && chmod g+{} {}": "unit/sidecar/files/test_access.py",
    "chmod o-w {}": f"{REMEDIES}::test_directory_remedy_resolves_its_fault",
    "chmod {} {}": f"{REMEDIES}::test_readable_token_remedy_resolves_its_fault",
    "mkdir -p {}": f"{REMEDIES}::test_directory_remedy_resolves_its_fault",
    "kafka-acls.sh --bootstrap-server BROKER --add --allow-principal User:NAME --topic {} "
    "--operation Write --operation Describe": "integration/kafka/test_security.py",
    "kafka-topics.sh --bootstrap-server BROKER --create --topic {}": (
        "integration/kafka/test_producer.py::test_missing_topic_blocks_only_its_events"
    ),
    "kafka-acls.sh --bootstrap-server {} --add --allow-principal {} --operation Write "
    "--operation Describe --topic {}": f"{KAFKA_REMEDIES}::test_unwritable_topic_remedies",
    "kafka-configs.sh --bootstrap-server {} --alter --topic {} "
    "--add-config cleanup.policy=delete": f"{KAFKA_REMEDIES}::test_compacted_topic_remedies",
    "kafka-topics.sh --bootstrap-server {} --create --topic {}": (
        f"{KAFKA_REMEDIES}::test_missing_topic_remedies_work"
    ),
}
"""The test that runs a command; that of a remedy checks that the fault ends. `{}` stands for
inserted text."""

PARSED_ONLY = {
    "agent quarantine retry": "names a command, in the text of a property",
    "agent snapshot start": "names a command, in the text of a property",
    "setfacl -m u:{}:r {}/CommitLog-*; setfacl -d -m u:{}:r {}": "needs ACLs",
    "setfacl -m u:{}:{} {}": "needs ACLs",
    "python -m spark_jobs.jars": "fetches from the network",
    "python -m spark_jobs.jars --spark {} {}": "fetches from the network",
    "python -m spark_jobs.jars DIR": "fetches from the network",
    "python -m spark_jobs.tables": "names a job",
}
"""Commands that no test can execute, with the reason. The list must not grow."""

_STATEMENT = re.compile(
    r"\b(?:(?:GRANT|ALTER) [^;`]*;"
    r"|db\.(?:adminCommand\(\{\W*\w+|getSiblingDB\([^)]*\)\.\w+)"
    r"|nodetool [^`]*)"
)
REAL_NODE = "acceptance/agent/test_real_node.py"
MIGRATION = "acceptance/lifecycle/slow_transactional_migration.py::test_accord_migration_remedy"
UPGRADED = "integration/mongo_agent/test_compatibility_versions.py"
MONGOSH = "integration/mongo_agent/test_statements.py"
STATEMENTS = {
    "GRANT SELECT ON {} TO {};": f"{REAL_NODE}::test_grants_printed_by_check",
    "GRANT UNMASK ON {} TO {};": f"{REAL_NODE}::test_masked_values",
    "ALTER TABLE keyspace.name WITH cdc = true;": "names no table",
    "ALTER KEYSPACE {} WITH durable_writes = true;": f"{REAL_NODE}::test_check_fails_for_a",
    "ALTER KEYSPACE {} WITH replication_type = 'untracked';": "no node here has them",
    "ALTER TABLE {} WITH transactional_mode = 'off';": MIGRATION,
    "nodetool consensus_admin finish-migration {}": MIGRATION,
    'db.adminCommand({"replSetResizeOplog': "needs an oplog that grows for hours",
    "db.adminCommand({modifyChangeStreams": f"{MONGOSH}::test_change_stream_statement",
    "db.adminCommand({setFeatureCompatibilityVersion": f"{UPGRADED}::test_restricted_server",
    "db.getSiblingDB({}).runCommand": f"{MONGOSH}::test_pre_image_statement_resolves_its_finding",
    'db.getSiblingDB("admin").createRole': f"{MONGOSH}::test_grant_statements",
    'db.getSiblingDB("admin").grantPrivilegesToRole': f"{MONGOSH}::test_grant_statements",
    "db.getSiblingDB({}).grantRolesToUser": f"{MONGOSH}::test_grant_statements",
}
"""The test that executes a statement, or the reason why no test can."""

WITHOUT_QUOTES = {
    *("quoted", "parents", "principal"),
    *("uid", "self.gid", "right", "rights", "mode & ~63", "versions.spark"),
    *("table", "name.table", "' '.join(truncated)", "' '.join(sorted(dropped))"),
    *("self.available_names[0]", "self.missing_names[0]", "self.dead_letter_names[0]"),
    *("topic", "denied[0]", "missing[0]", "compacted[0]"),
}
"""Inserted expressions that need no quotes.

They are quoted already, or yield numbers, mode letters, or names of tables, segments and topics.
Such names contain only letters, digits, `.`, `_` and `-`."""


def _inserted(text: ast.JoinedStr) -> Iterator[str]:
    """The expressions that a text inserts into its commands."""
    shown, expressions = "", []
    for part in text.values:
        if isinstance(part, ast.FormattedValue):
            shown += "{}"
            expressions.append(ast.unparse(part.value))
        elif isinstance(part, ast.Constant):
            shown += str(part.value).replace("{}", "")
    for command in _COMMAND.finditer(shown):
        before = shown.count("{}", 0, command.start())
        yield from expressions[before : before + command[0].count("{}")]


@cache
def _trees() -> list[tuple[Path, ast.Module]]:
    """The modules that name a command."""
    return [
        (file, ast.parse(source))
        for room in ROOMS
        for file in (REPOSITORY / room).rglob("*.py")
        if file.name not in _GENERATED
        and _BEGIN_OF_COMMAND.search(source := file.read_text(encoding="utf-8"))
    ]


@cache
def commands() -> frozenset[str]:
    """All commands in backticks in texts of the programs, without docstrings."""
    return frozenset(
        " ".join(command.split())
        for _, tree in _trees()
        for text in texts_of(tree)
        for command in _COMMAND.findall(text)
    )


@cache
def statements() -> frozenset[str]:
    """All statements for cqlsh, nodetool and mongosh in texts of the agents."""
    return frozenset(
        statement
        for room in ("agent", "commitlog", "mongo_agent", "sidecar")
        for file in (REPOSITORY / room).rglob("*.py")
        if file.name not in _GENERATED
        for text in texts_of(ast.parse(file.read_text(encoding="utf-8")))
        for statement in _STATEMENT.findall(text)
    )


def _of_agents() -> list[str]:
    return sorted(each for each in commands() if each.split()[0] in PROGRAMS)


@pytest.mark.parametrize("command", _of_agents())
def test_printed_command_parses(command: str, tmp_path: Path) -> None:
    file = tmp_path / "a b.properties"
    printed = runnable(f"`{command.replace('{}', 'ks.t')}`", [file]).strip("`")
    program, *words = shlex.split(printed)
    group: Any = PROGRAMS[program]
    invocation: Invocation[Any] = Invocation(program, lambda *_: None, lambda _: [])
    context = group.make_context(program, words, obj=invocation)
    while isinstance(context.command, click.Group):
        # A group without a command is a program that runs, or a topic.
        name, found, rest = context.command.resolve_command(
            context, [*context._protected_args, *context.args]
        )
        assert found is not None
        context = found.make_context(name, rest, parent=context)
    assert invocation.files == [file]


def test_every_command_is_executed_by_a_test() -> None:
    assert commands() == EXECUTED.keys() | PARSED_ONLY.keys()
    assert not EXECUTED.keys() & PARSED_ONLY.keys()


def test_every_statement_is_executed_by_a_test() -> None:
    assert statements() == STATEMENTS.keys()


def test_inserted_text_in_command_is_quoted() -> None:
    """A path, a user or a MongoDB name may contain spaces and quotes."""
    found = {
        f"{file.relative_to(REPOSITORY)}: {expression}"
        for file, tree in _trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for expression in _inserted(node)
        if not expression.startswith("shlex.") and expression not in WITHOUT_QUOTES
    }
    assert found == set()


@pytest.mark.parametrize(
    "test", sorted({each for each in (*EXECUTED.values(), *STATEMENTS.values()) if ".py" in each})
)
def test_referenced_test_exists(test: str) -> None:
    path, _, name = test.partition("::")
    assert f"def {name}" in (REPOSITORY / "tests" / path).read_text(encoding="utf-8")
