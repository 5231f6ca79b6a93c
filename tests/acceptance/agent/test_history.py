"""The last 24 hours of a real agent: there after a kill, and harmless when the file is damaged."""

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from sidecar.history import recorder
from sidecar.history.ring_file import FILE_NAME
from sidecar.history.ring_format import Layout, decode_file, encode_file
from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.agents.agent_thread import AgentThread

HOUR_S = 3600


def rows(process: AgentThread) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"{process.url}/history") as answer:
        document = json.load(answer)
    assert document["interval_s"] == 60
    return [dict(zip(document["columns"], row, strict=True)) for row in document["samples"]]


def test_the_history_is_there_after_a_restart(
    agent_dir: AgentDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    # How often the recorder takes a sample.
    monkeypatch.setattr(recorder, "_LOOK_S", 0.1)
    arguments = ["--config", str(agent_dir.configuration())]
    log, file = agent_dir.folder / "agent.log", agent_dir.offsets / FILE_NAME
    write_segment(agent_dir.cdc_raw, 1, [[payload(1)]])
    with AgentThread(arguments, log, 0) as process:
        process.wait_until(
            "a sample with figures",
            lambda: (
                process.health() is not None and any(row["lag_s"] == 0 for row in rows(process))
            ),
        )
        assert rows(process)[-1]["cdc_raw_bytes"] is not None
        assert process.stop() == 0
    layout, stored = decode_file(file.read_bytes())
    assert stored
    assert file.stat().st_size == layout.file_bytes < 120_000
    # As if the agent had stopped an hour ago.
    earlier = {time_s - HOUR_S: values for time_s, values in stored.items()}
    file.write_bytes(encode_file(layout, earlier))
    with AgentThread(arguments, log, 0) as process:
        process.wait_until(
            "the stored samples",
            lambda: process.health() is not None and len(rows(process)) >= HOUR_S // 60,
        )
        known = [row for row in rows(process) if row["status"] is not None]
        assert known[0]["epoch_s"] == min(earlier)
        assert rows(process)[5]["lag_s"] is None
        assert process.stop() == 0


@pytest.mark.parametrize("damage", ["damaged", "directory", "older columns"])
def test_delivery_does_not_depend_on_the_file(agent_dir: AgentDir, damage: str) -> None:
    file: Path = agent_dir.offsets / FILE_NAME
    if damage == "directory":
        file.mkdir()
    elif damage == "damaged":
        file.write_bytes(b"\xff" * 5000)
    else:
        file.write_bytes(encode_file(Layout(("gone",)), {60: (1.0,)}))
    write_segment(agent_dir.cdc_raw, 1, [[payload(1)]])
    log = agent_dir.folder / "agent.log"
    with AgentThread(["--config", str(agent_dir.configuration())], log, 0) as process:
        process.wait_until(
            "delivery", lambda: agent_dir.events.exists() and not list(agent_dir.cdc_raw.iterdir())
        )
        assert process.stop() == 0
    assert "Traceback" not in log.read_text()
    assert agent_dir.events.read_text().count("\n") == 1
    assert file.is_dir() == (damage == "directory")
