"""Status of a running agent: an agent that publishes nothing and reads another directory; the
history of the last 24 hours, which survives a restart and whose damage is harmless."""

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from sidecar.history import recorder
from sidecar.history.ring_file import FILE_NAME, Layout, decode_file, encode_file
from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.agents.agent_health import health, page
from tests.support.agents.agent_thread import AgentThread


def codes(process: AgentThread) -> set[str]:
    return {each["code"] for each in health(process)[1]["conditions"]}


def wrong_site(tmp_path: Path) -> tuple[AgentDir, Path]:
    """Lists that match nothing, and a node that uses another directory."""
    agent_dir = AgentDir(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    yaml = tmp_path / "cassandra.yaml"
    yaml.write_text(f"cdc_enabled: true\ncdc_raw_directory: {other}\n")
    write_segment(agent_dir.cdc_raw, 1, [[payload(1)]])
    path = agent_dir.configuration(
        {
            "cassandra.config": str(yaml),
            "table.include.list": "ks.orders",
            "field.exclude.list": "ks.t.secret",
        }
    )
    return agent_dir, path


def test_agent_without_published_tables_is_degraded(
    tmp_path: Path,
) -> None:
    agent_dir, path = wrong_site(tmp_path)
    expected = {"cdc_raw_directory_differs", "no_table_published", "list_entry_unmatched"}
    log = tmp_path / "agent.log"
    with AgentThread(["--config", str(path)], log, 0) as process:
        process.wait_until("the conditions", lambda: codes(process) == expected)
        code, document = health(process)
        assert (code, document["status"]) == (503, "degraded")
        with urllib.request.urlopen(f"{process.url}/ready") as answer:
            assert answer.status == 200
        metrics = page(process, "metrics")
        assert 'cdc_status{status="degraded"} 1.0' in metrics
        assert "cdc_published_tables 0.0" in metrics
        for each in expected:
            assert f'cdc_condition{{code="{each}",status="degraded"}} 1.0' in metrics
        process.wait_until("the log", lambda: all(each in log.read_text() for each in expected))
        shown = json.loads(page(process, "page.json"))
        assert (shown["state"], shown["message"]) == ("degraded", document["message"])
        assert shown["conditions"] == document["conditions"]
        assert process.stop() == 0
    last = [line for line in log.read_text().splitlines() if "WARNING" in line][-3:]
    assert all("the agent stops and a condition still exists" in line for line in last)
    messages = " ".join(each["message"] for each in document["conditions"])
    assert (
        f"The node uses {tmp_path / 'other'} and the agent reads {agent_dir.cdc_raw}." in messages
    )
    assert "field.exclude.list: ks.t.secret: there is no such column" in messages
    assert "table.include.list: ks.orders: it matches no table" in messages


HOUR_S = 3600


def rows(process: AgentThread) -> list[dict[str, Any]]:
    document = json.loads(page(process, "history"))
    assert document["interval_s"] == 60
    return [dict(zip(document["columns"], row, strict=True)) for row in document["samples"]]


def test_status_history_survives_a_restart(
    agent_dir: AgentDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Sampling interval of the recorder.
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
def test_damaged_history_file_does_not_stop_delivery(agent_dir: AgentDir, damage: str) -> None:
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
    assert (agent_dir.events.read_text().count("\n"), file.is_dir()) == (1, damage == "directory")
