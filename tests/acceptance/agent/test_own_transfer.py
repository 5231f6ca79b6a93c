"""A user's transfer class, with the agent as a process: no error of the class loses a segment."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.agents.agent_main import agent
from tests.support.agents.agent_thread import AgentThread, running
from tests.support.agents.running_agent import is_drained, values

pytestmark = pytest.mark.servers

# A file selects the behaviour, so that a test can change it while the agent runs.
CLASS = """
import os, shutil, sys, threading
from pathlib import Path
from agent.transfer.segment_transfer import SegmentError

class Transfer:
    def __init__(self, settings):
        assert settings.node_id == "node-1"
        self.folder = Path(settings.options["folder"])

    def transfer(self, segment):
        what = (self.folder / "what").read_text()
        (self.folder / "called").touch()
        if what == "raises":
            raise RuntimeError("the tape is full")
        if what == "refuses" and segment.log.name.endswith("-1.log"):
            raise SegmentError("not this one")
        if what == "exits":
            sys.exit(0)
        if what == "dies":
            os._exit(9)
        if what == "blocks":
            threading.Event().wait()
        for file in filter(None, (segment.idx, segment.log)):
            shutil.copyfile(file, self.folder / file.name)
"""


@pytest.fixture
def folder(agent_dir: AgentDir, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    modules = agent_dir.folder / "modules"
    modules.mkdir()
    (modules / "tape_archive.py").write_text(CLASS)
    monkeypatch.setenv("PYTHONPATH", str(modules))
    monkeypatch.syspath_prepend(modules)
    folder = agent_dir.folder / "tape"
    folder.mkdir()
    yield folder


def settings(folder: Path) -> dict[str, str]:
    return {
        "commit.log.transfer.class": "tape_archive:Transfer",
        "commit.log.transfer.folder": str(folder),
        "commit.log.transfer.timeout.ms": "1",
        "commit.log.transfer.retry.max.ms": "50",
    }


def written(agent_dir: AgentDir, *numbers: int) -> dict[str, bytes]:
    """Write segments to cdc_raw; returns their contents by file name."""
    found = {}
    for number in numbers:
        path = write_segment(agent_dir.cdc_raw, number, [[payload(number, b"%d" % number)]])
        for file in (path, path.with_name(f"{path.stem}_cdc.idx")):
            found[file.name] = file.read_bytes()
    return found


def wait_for_message(process: AgentThread, part: str) -> None:
    process.wait_until(part, lambda: part in str(process.health()))


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("raises", "failed for CommitLog-7-1.log: RuntimeError: the tape is full"),
        ("exits", "failed for CommitLog-7-1.log: SystemExit: 0"),
        ("dies", "ended with exit code 9"),
        ("blocks", "has not returned for"),
    ],
)
def test_failing_transfer_class_keeps_segments_until_it_works(
    agent_dir: AgentDir, folder: Path, what: str, message: str
) -> None:
    contents = written(agent_dir, 1, 2)
    upload = agent_dir.relocation / "upload"
    (folder / "what").write_text(what)
    with running(agent_dir, settings(folder)) as process:
        process.wait_until("the end of cdc_raw", lambda: is_drained(agent_dir))
        wait_for_message(process, message)
        assert {each.name for each in upload.iterdir()} == set(contents)
        assert process.stop() == 0, "a stop does not wait for the class"
    (folder / "what").write_text("works")
    with running(agent_dir, settings(folder)) as process:
        process.wait_until("the transfer", lambda: not list(upload.iterdir()))
        assert process.stop() == 0
    assert {name: (folder / name).read_bytes() for name in contents} == contents
    assert values(agent_dir) == ["1", "2"]


def test_rejected_segment_does_not_block_other_transfers(agent_dir: AgentDir, folder: Path) -> None:
    contents = written(agent_dir, 1, 2)
    upload = agent_dir.relocation / "upload"
    (folder / "what").write_text("refuses")
    with running(agent_dir, settings(folder)) as process:
        process.wait_until("the other one", lambda: (folder / "CommitLog-7-2.log").exists())
        wait_for_message(process, "SegmentError: not this one")
        (folder / "what").write_text("works")
        process.wait_until("the transfer", lambda: not list(upload.iterdir()))
        assert process.stop() == 0
    assert {name: (folder / name).read_bytes() for name in contents} == contents


def test_example_transfer_class_copies_to_a_folder(agent_dir: AgentDir, folder: Path) -> None:
    contents = written(agent_dir, 1)
    changes = settings(folder) | {
        "commit.log.transfer.class": "examples.transfer.mounted_folder:MountedFolder",
        "commit.log.transfer.timeout.ms": "60000",
    }
    kept = folder / "node-1"
    with running(agent_dir, changes) as process:
        process.wait_until("the transfer", lambda: (kept / "CommitLog-7-1.log").exists())
        assert process.stop() == 0
    assert {each.name: each.read_bytes() for each in kept.iterdir()} == contents


@pytest.mark.parametrize("command", ["check", "run"])
def test_unusable_transfer_class_is_reported_at_start(
    agent_dir: AgentDir, folder: Path, command: str
) -> None:
    changes = {"commit.log.transfer.class": "no_such_module:Transfer"}
    outcome = agent(command, "--config", agent_dir.configuration(changes))
    assert outcome.exit_code == (1 if command == "check" else 2)
    shown = " ".join(f"{outcome.output} {outcome.errors}".split())
    assert "the module no_such_module cannot be imported" in shown
