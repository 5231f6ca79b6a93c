"""Hard links that another user plants in each directory of the agent, where the kernel lets them
(`fs.protected_hardlinks=0`): only names go, the file behind them keeps its content."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agent.cdc_raw.move import move
from agent.cdc_raw.names import SegmentName
from agent.pipeline.read_attempts import FILE, ReadAttempts
from agent.quarantine.quarantine import Quarantine
from agent.quarantine.reason import LostRange
from agent.schema.history import SchemaHistory
from agent.schema.source import KnownSchema, NodeIdentity
from agent.transfer.archive import ArchiveTransfer
from commitlog import Schema
from sidecar.offsets.properties_store import PropertiesStore
from tests.support.agents.agent_directory import SCHEMA, payload, write_segment
from tests.support.agents.planted_files import NAME, SECRET

LOG, IDX = NAME.log, NAME.idx


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_bytes(SECRET)
    return path


def archive(folder: Path, plant: Callable[[Path], None]) -> None:
    (folder / "archive").mkdir()
    for name in (LOG, IDX):
        plant(folder / "archive" / name)
        plant(folder / "archive" / f".{name}.tmp")
    write_segment(folder, 1, [[payload(1)]])
    ArchiveTransfer(folder).transfer(folder / LOG, folder / IDX)
    assert (folder / "archive" / LOG).stat().st_nlink == 1


def quarantine(folder: Path, plant: Callable[[Path], None]) -> None:
    found = Quarantine(folder / "error", 1 << 20, "1.2.3")
    found.directory.mkdir()
    for name in (f"{LOG}.reason.json", f".{LOG}.reason.json.tmp"):
        plant(found.directory / name)
    found.record_ranges(NAME, [LostRange(1, 2, "damaged")])


def requeue(folder: Path, plant: Callable[[Path], None]) -> None:
    """Its file in the quarantine is the agent's own; the name in `cdc_raw` is taken."""
    write_segment(folder, 1, [[payload(1)]])
    (folder / "raw").mkdir()
    plant(folder / "raw" / LOG)
    move(folder / LOG, folder / "raw" / LOG)
    assert (folder / "raw" / LOG).stat().st_nlink == 1


def offsets(folder: Path, plant: Callable[[Path], None]) -> None:
    store = PropertiesStore(folder, "offsets.properties")
    for name in ("offsets.properties.previous", ".offsets.properties.tmp"):
        plant(folder / name)
    store.save({"a": "1"})
    store.save({"a": "2"})
    assert store.load().values == {"a": "2"}


def schema_history(folder: Path, plant: Callable[[Path], None]) -> None:
    history = SchemaHistory(folder)
    for name in (history.path.name, f".{history.path.name}.tmp"):
        plant(folder / name)
    history.save(KnownSchema(Schema.from_cql(SCHEMA), NodeIdentity("node", "lab")))
    assert history.load() is not None


def read_note(folder: Path, plant: Callable[[Path], None]) -> None:
    plant(folder / FILE)
    attempts = ReadAttempts(folder)
    with attempts.reading(SegmentName(id=1, version=7), 0):
        assert (folder / FILE).stat().st_nlink == 1
    attempts.close()


@pytest.mark.parametrize("act", [archive, quarantine, requeue, offsets, schema_history, read_note])
def test_the_file_behind_a_planted_hard_link_keeps_its_content(
    act: Callable[[Path, Callable[[Path], None]], None], tmp_path: Path, victim: Path
) -> None:
    folder = tmp_path / "agent"
    folder.mkdir()
    planted: list[Path] = []

    def plant(path: Path) -> None:
        path.hardlink_to(victim)
        planted.append(path)

    act(folder, plant)
    assert planted
    assert victim.read_bytes() == SECRET
