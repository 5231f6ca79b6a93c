"""Commands and properties in the documentation exist."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from agent.cli.entry import agent
from agent.config.document import configuration_document as agent_document
from mongo_agent.cli.entry import mongo_agent
from mongo_agent.config.document import configuration_document as mongo_document
from sidecar.properties.model import declarations
from spark_jobs.dedupe.options import DedupeJobOptions
from spark_jobs.mongo_reconcile.options import MongoJobOptions
from spark_jobs.reconcile.options import PurgeOptions, ReconcileOptions, ViewOptions
from spark_jobs.tables.options import ExpireOptions, HistoryOptions, TablesJobOptions
from spark_jobs.watermarks.options import WatermarkOptions
from tests.support.checks.documentation import DOCS, REPOSITORY, name

PAGES = (
    REPOSITORY / "README.md",
    *(page for page in sorted(DOCS.rglob("*.md")) if page.name != "glossary.md"),
)
COMMANDS = {"agent": agent, "mongo-agent": mongo_agent}
JOBS = (
    DedupeJobOptions,
    MongoJobOptions,
    ReconcileOptions,
    ViewOptions,
    PurgeOptions,
    TablesJobOptions,
    ExpireOptions,
    HistoryOptions,
    WatermarkOptions,
)
KNOWN = set(re.findall(r"`([\w.*]+)`", agent_document() + mongo_document())) | {
    declaration.name for job in JOBS for _, _, declaration in declarations(job)
}

_SPAN = re.compile(r"`([^`\n]+)`")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_PATH = re.compile(
    r"(?:agent|sidecar|mongo_agent|spark_jobs|commitlog|k8s|benches|examples|scripts|requirements)"
    r"/[\w./-]+"
)
_IMPORT = re.compile(
    r"^from ((?:agent|commitlog|mongo_agent|sidecar|spark_jobs)[\w.]*) import ([\w, ]+)$",
    re.MULTILINE,
)
_CALL = re.compile(r"(?:^|[\s/=])((?:mongo-)?agent)((?: +[^\s#|;&`]+)+)")


def calls(page: Path) -> Iterator[tuple[str, list[str]]]:
    """Command lines in code, as a program and its words."""
    text = page.read_text(encoding="utf-8")
    lines = [span for span in _SPAN.findall(_BLOCK.sub("", text)) if "agent" in span]
    for language, block in _BLOCK.findall(text):
        if language in ("sh", "ini"):
            lines += [re.sub(r"(?:^|\s)#.*", "", each) for each in joined(block)]
    for line in lines:
        for program, words in _CALL.findall(line):
            yield program, words.split()


def joined(block: str) -> list[str]:
    """The lines of a shell block, with continuations joined."""
    return block.replace("\\\n", " ").splitlines()


def problem(program: str, words: list[str]) -> str | None:
    """The first unknown word of the command line."""
    command: click.Command = COMMANDS[program]
    options = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    options |= {"-h", "--help"}
    for word in words:
        if word.startswith("-"):
            if word.split("=")[0] not in options:
                return word
        elif isinstance(command, click.Group) and (
            found := command.get_command(click.Context(command), word)
        ):
            command = found
            options |= {
                name for each in command.params for name in (*each.opts, *each.secondary_opts)
            }
        elif isinstance(command, click.Group) and re.fullmatch(r"[a-z-]+", word):
            return word
    return None


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_documented_commands_exist(page: Path) -> None:
    found = [(program, words, problem(program, words)) for program, words in calls(page)]
    assert [each for each in found if each[2]] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_documented_properties_exist(page: Path) -> None:
    blocks = _BLOCK.findall(page.read_text(encoding="utf-8"))
    lines = [
        line for language, block in blocks if language == "properties" for line in block.split("\n")
    ]
    keys = [line.split("=")[0] for line in lines if re.match(r"[a-z][\w.]*=", line)]
    prefixes = tuple(each.removesuffix("*") for each in KNOWN if each.endswith("*"))
    assert [key for key in keys if key not in KNOWN and not key.startswith(prefixes)] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_names_imported_by_examples_exist(page: Path) -> None:
    blocks = _BLOCK.findall(page.read_text(encoding="utf-8"))
    imports = [
        (module, each.strip())
        for language, block in blocks
        if language == "python"
        for module, names in _IMPORT.findall(block)
        for each in names.split(",")
    ]
    missing = [
        (module, each)
        for module, each in imports
        if not hasattr(importlib.import_module(module), each)
    ]
    assert missing == []


@pytest.mark.parametrize("page", (*PAGES, REPOSITORY / "CONTRIBUTING.md"), ids=name)
def test_documented_repository_paths_exist(page: Path) -> None:
    spans = _SPAN.findall(_BLOCK.sub("", page.read_text(encoding="utf-8")))
    paths = [each for each in spans if _PATH.fullmatch(each)]
    missing = [
        each
        for each in paths
        if not any((REPOSITORY / f"{each}{suffix}").exists() for suffix in ("", ".py", ".rs"))
    ]
    assert missing == []
