import sys
from pathlib import Path
from types import ModuleType

import pytest

from agent.transfer.own_class import OwnClassStore, load_class
from agent.transfer.segment_transfer import FinishedSegment, SegmentError, TransferSettings
from sidecar.errors import ConfigError
from sidecar.store.base import StoreError


class Good:
    def __init__(self, settings: TransferSettings) -> None:
        self.settings = settings

    def transfer(self, segment: FinishedSegment) -> None:
        match self.settings.options.get("what"):
            case "fails":
                raise ValueError("two\nlines")
            case "refuses":
                raise SegmentError("not this one")
            case "disk":
                raise FileNotFoundError(2, "No such file", "/tape")
        Path(self.settings.options["file"]).write_text(str(segment))


class NoMethod:
    def __init__(self, settings: TransferSettings) -> None: ...


class NoArgument:
    def transfer(self, segment: FinishedSegment) -> None: ...


class WrongMethod:
    def __init__(self, settings: TransferSettings) -> None: ...

    def transfer(self, log: Path, idx: Path) -> None: ...


@pytest.fixture(autouse=True)
def module(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ModuleType("own_transfer")
    found.__dict__.update(
        Good=Good, NoMethod=NoMethod, NoArgument=NoArgument, WrongMethod=WrongMethod, number=1
    )
    monkeypatch.setitem(sys.modules, "own_transfer", found)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("no_such_module:Good", "the module no_such_module cannot be imported"),
        ("own_transfer:Missing", "has no class Missing"),
        ("own_transfer:number", "has no class number"),
        ("own_transfer:NoMethod", "has no method transfer. Add `def transfer(self, segment)`"),
        ("own_transfer:NoArgument", "__init__ cannot be called with one argument"),
        ("own_transfer:WrongMethod", "transfer cannot be called with one argument"),
    ],
)
def test_unusable_transfer_class_is_reported(name: str, part: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load_class(name)
    assert part in str(raised.value)
    assert f"`commit.log.transfer.class={name}`" in str(raised.value)


def store(**options: str) -> OwnClassStore:
    return OwnClassStore("own_transfer:Good", TransferSettings("node-1", options))


def test_transfer_class_receives_files_and_settings(tmp_path: Path) -> None:
    store(file=str(tmp_path / "f")).transfer(Path("/u/a.log"), None, 3)
    assert (tmp_path / "f").read_text() == str(FinishedSegment(Path("/u/a.log"), None, 3))


@pytest.mark.parametrize(
    ("what", "reason", "is_alone"),
    [
        ("fails", "ValueError: two. The agent keeps", False),
        ("refuses", "SegmentError: not this one", True),
        ("disk", "FileNotFoundError", False),
    ],
)
def test_exception_of_transfer_class_becomes_store_error(
    what: str, reason: str, is_alone: bool
) -> None:
    with pytest.raises(StoreError) as raised:
        store(what=what).transfer(Path("/u/a.log"), None, 3)
    assert f"own_transfer:Good failed for a.log: {reason}" in str(raised.value)
    assert raised.value.is_segment_specific == is_alone
