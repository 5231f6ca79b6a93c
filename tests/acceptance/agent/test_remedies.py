"""Executing a printed remedy resolves its fault.

The tests copy the commands from the message of `check` or of `/health`, and run them in a shell.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.config.loader import OFFSET_FILE
from sidecar.offsets.properties_store import PropertiesStore
from tests.support.agents.agent_directory import (
    OTHER_ID,
    SCHEMA,
    TABLE_ID,
    AgentDir,
    payload,
    write_segment,
)
from tests.support.agents.agent_health import health
from tests.support.agents.agent_main import agent
from tests.support.agents.agent_thread import AgentThread

pytestmark = pytest.mark.servers

_COMMAND = re.compile(r"`((?:agent|mkdir|chmod|chgrp) [^`]*)`")
OTHER = SCHEMA.replace("ks.t", "ks.other").replace(str(TABLE_ID), str(OTHER_ID))


def commands_in(text: str) -> list[str]:
    """Commands of a remedy, as an operator copies them."""
    return _COMMAND.findall(text)


def paste(command: str) -> None:
    """Run in a shell that finds the program and has no configuration."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command],
        env={"PATH": path},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)


def findings(path: Path) -> dict[str, dict[str, str]]:
    """Findings of `check` except those that are ok, by code."""
    found = json.loads(agent("check", "--json", "--config", path).output)["findings"]
    return {each["code"]: each for each in found if each["level"] != "ok"}


def _removed(agent_dir: AgentDir) -> None:
    shutil.rmtree(agent_dir.offsets)


def _everybodys(agent_dir: AgentDir) -> None:
    agent_dir.offsets.chmod(0o777)


@pytest.mark.parametrize(
    ("code", "broken"),
    [("directory_unusable", _removed), ("directory_world_writable", _everybodys)],
)
def test_directory_remedy_resolves_its_fault(
    tmp_path: Path, code: str, broken: Callable[[AgentDir], None]
) -> None:
    """The directory's name contains a space."""
    (tmp_path / "a b").mkdir()
    agent_dir = AgentDir(tmp_path / "a b")
    path = agent_dir.configuration()
    broken(agent_dir)
    found = findings(path)[code]
    (command,) = commands_in(f"{found['message']} {found['remedy']}")
    paste(command)
    assert code not in findings(path)
    paste(f"agent --config '{path}' check")


def test_readable_token_remedy_resolves_its_fault(agent_dir: AgentDir) -> None:
    token = agent_dir.folder / "token"
    token.write_text("0123456789abcdef0123456789abcdef\n")
    token.chmod(0o644)
    path = agent_dir.configuration({"http.token.file": str(token)})
    (command,) = commands_in(findings(path)["http_token_readable_by_others"]["remedy"])
    paste(command)
    assert "http_token_readable_by_others" not in findings(path)


def test_changed_prefix_remedies_resolve_fault(agent_dir: AgentDir) -> None:
    """Either command resolves the fault; the message states which data each one keeps."""
    path = agent_dir.configuration()
    for number in (0, 1):
        store = PropertiesStore(agent_dir.offsets, OFFSET_FILE, "other")
        store.save({"node.id": "node-1", "CommitLog-7-1.log": "100"})
        commands = commands_in(findings(path)["offsets_source_mismatch"]["remedy"])
        assert len(commands) == 2
        paste(commands[number])
        assert "offsets_source_mismatch" not in findings(path)


def running(agent_dir: AgentDir, **changes: str) -> AgentThread:
    path = agent_dir.configuration({n.replace("_", "."): v for n, v in changes.items()})
    return AgentThread(["--config", str(path)], agent_dir.folder / "agent.log", 0)


def shown(process: Any, code: str) -> dict[str, Any]:
    """The condition with this code, as soon as it exists."""
    found: list[dict[str, Any]] = []

    def is_shown() -> bool:
        found[:] = [each for each in health(process)[1]["conditions"] if each["code"] == code]
        return bool(found)

    process.wait_until(code, is_shown)
    return found[0]


@pytest.mark.parametrize(
    "kind", [pytest.param("retry CommitLog", marks=pytest.mark.slow), "retry --all"]
)
def test_quarantine_retry_delivers_a_segment(agent_dir: AgentDir, kind: str) -> None:
    """`schema.file` lacked the table of the segment."""
    write_segment(agent_dir.cdc_raw, 1, [[payload(1, table_id=OTHER_ID)]])
    with running(agent_dir, segment_blocked_timeout_ms="3000") as process:
        commands = commands_in(shown(process, "segment_quarantined")["remedy"])
        (listing,) = _with(commands, " quarantine list")
        paste(listing)
        agent_dir.schema.write_text(SCHEMA + OTHER)
        (command,) = _with(commands, f" quarantine {kind}")
        paste(command)
        # The quarantine is empty before the agent reads the segment.
        process.wait_until("event", lambda: "demo.ks.other" in agent_dir.events.read_text())
        process.wait_until("health", lambda: health(process)[0] == 200)


def test_quarantine_discard_resolves_a_lost_segment(agent_dir: AgentDir) -> None:
    """The other command, which copies the tables, needs a node."""
    write_segment(agent_dir.cdc_raw, 1, [[payload(1)]]).unlink()
    write_segment(agent_dir.cdc_raw, 2, [[payload(2)]])
    with running(agent_dir, cdc_dir_poll_interval_ms="100") as process:
        commands = commands_in(shown(process, "segment_lost")["remedy"])
        (command,) = _with(commands, " quarantine discard CommitLog")
        # Confirms the prompt without a terminal.
        paste(f"{command} --yes")
        process.wait_until("health", lambda: health(process)[0] == 200)


def _with(commands: Sequence[str], part: str) -> list[str]:
    return [each for each in commands if part in each]
