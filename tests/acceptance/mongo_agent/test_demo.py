"""`make demo-mongo` ends with the events of its writes."""

import shutil
from pathlib import Path

import pytest

from examples.mongo import demo
from tests.support.checks.documentation import REPOSITORY


def test_demo_shows_one_event_of_each_operation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(REPOSITORY / "examples" / "mongo", tmp_path / "examples" / "mongo")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MONGODB_URI", raising=False)
    assert demo.main() == 0, capsys.readouterr().out
    shown = capsys.readouterr().out
    assert [name for name in demo.OPERATIONS.values() if f"{name}, for example" in shown] == [
        *demo.OPERATIONS.values()
    ]
