"""Colours and boxes: on a terminal, not with `NO_COLOR`, never in a pipe."""

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from agent.quarantine.files import DIRECTORY, REASON
from agent.quarantine.reason import LostRange, QuarantineReason, reason_text
from tests.support.agents.agent_command import AGENT
from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.agents.agent_main import agent

pytestmark = pytest.mark.heavy

NAME = "CommitLog-7-1.log"
COMMANDS = {
    ("check",): "file.path",
    ("quarantine", "list"): NAME,
    ("status", "--port", "1"): "No agent answers",
    ("--help",): "quarantine",
}
"""Commands, each with a part of its output."""
_COLOUR = re.compile(r"\x1b\[(?:[\d;]*;)?(?:3[0-8]|4[0-8]|9\d|10\d)(?:;[\d;]*)?m")
_BOX = re.compile("[\u2500-\u257f]")


@pytest.fixture
def configuration(agent_dir: AgentDir) -> Path:
    """Of an agent with one quarantined segment; `check` finds a fault."""
    kept = agent_dir.relocation / DIRECTORY
    kept.mkdir()
    write_segment(kept, 1, [[payload(1)]])
    reason = QuarantineReason(NAME, "0.2.0", "2026-01-31T12:00:00+00:00", (LostRange(1, 9, "x"),))
    (kept / f"{NAME}{REASON}").write_bytes(reason_text(reason))
    return agent_dir.configuration({"file.path": "/nowhere/events.ndjson"})


def command(words: tuple[str, ...], configuration: Path) -> list[str]:
    options = [] if words == ("--help",) else ["--config", str(configuration)]
    return [str(AGENT), *words, *options]


def environment(**changes: str) -> dict[str, str]:
    """That of a terminal with colours, whatever runs the tests."""
    left_out = {"NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"}
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**kept, "TERM": "xterm-256color", "COLUMNS": "200", **changes}


def on_terminal(arguments: list[str], **changes: str) -> str:
    """What the command prints to a terminal of its own."""
    ours, theirs = pty.openpty()
    try:
        with subprocess.Popen(
            arguments, stdin=theirs, stdout=theirs, stderr=theirs, env=environment(**changes)
        ):
            os.close(theirs)
            printed = b""
            # The end of a terminal without a writer is an error on Linux.
            while chunk := _read(ours):
                printed += chunk
    finally:
        os.close(ours)
    return printed.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_pipe_gets_neither_colours_nor_boxes(words: tuple[str, ...], configuration: Path) -> None:
    done = agent(*command(words, configuration)[1:])
    printed = done.output + done.errors
    assert COMMANDS[words] in printed
    assert "\x1b" not in printed
    assert not _BOX.search(printed)


def test_a_terminal_gets_colours_without_no_color_and_boxes(configuration: Path) -> None:
    assert _COLOUR.search(on_terminal(command(("check",), configuration)))
    for words in (("check",), ("quarantine", "list")):
        printed = on_terminal(command(words, configuration), NO_COLOR="1")
        assert not _COLOUR.search(printed)
        assert COMMANDS[words] in printed
        assert bool(_BOX.search(printed)) is (words == ("quarantine", "list"))
