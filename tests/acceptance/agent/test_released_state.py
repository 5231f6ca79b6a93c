"""The agent resumes from the state files of every release without loss and with bounded repeats."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent.accord.capture import OFFSET_FILE as ACCORD_FILE
from agent.accord.position import position_from_entries
from agent.config.loader import OFFSET_FILE, SNAPSHOT_FILE
from agent.pipeline.read_attempts import FILE as READS_FILE
from agent.pipeline.read_attempts import parse_note
from agent.schema.history import AnnouncementStore, SchemaHistory
from agent.segments.offsets import offsets_from_entries
from agent.snapshot.offsets import snapshot_offsets_from_entries
from agent.watermark.coverage import CoverageStore
from sidecar.offsets.properties_store import PropertiesStore
from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.agent_health import health
from tests.support.agents.agent_main import agent
from tests.support.agents.agent_thread import AgentThread, running
from tests.support.agents.released_state import ReleasedState, events_of, released_versions
from tests.support.servers.processes import free_port


@pytest.fixture(params=released_versions())
def state(request: pytest.FixtureRequest) -> ReleasedState:
    return ReleasedState.of(request.param, "cassandra")


def properties(agent_dir: AgentDir) -> dict[str, str | None]:
    """The node is down: only the stored history contains its schema."""
    return {
        **dict.fromkeys(("schema.file", "node.id", "cluster.name"), None),
        "topic.prefix": "shop",
        "table.include.list": "shop.orders",
        "cassandra.hosts": "127.0.0.1",
        "cassandra.port": str(free_port()),
        "offset.flush.interval.ms": "0",
        "snapshot.mode": "initial",
    }


def delivered(agent_dir: AgentDir) -> list[dict[str, Any]]:
    return events_of(agent_dir.events.read_bytes()) if agent_dir.events.exists() else []


def ids(events: list[dict[str, Any]]) -> Counter[str]:
    return Counter(each["headers"]["cdc.id"] for each in events)


def in_segment(source: str, name: str) -> int | None:
    """Position of an event of this segment."""
    number = re.search(r"(\d+)\.log$", name)
    assert number is not None
    _, segment, position, _ = source.rsplit("/", 3)
    return int(position) if segment == number[1] else None


def run_until_read(agent_dir: AgentDir) -> Mapping[str, Any]:
    """Run until `cdc_raw` is empty; returns the last `/health`."""
    with running(agent_dir, properties(agent_dir)) as process:
        process.wait_until("all segments", lambda: has_read(agent_dir, process))
        _, answer = health(process)
        assert process.stop() == 0
    return answer


def has_read(agent_dir: AgentDir, process: AgentThread) -> bool:
    """Whether there are events, no segment waits, and the snapshot has queried the node."""
    codes = {condition["code"] for condition in health(process)[1]["conditions"]}
    waiting = list(agent_dir.cdc_raw.glob("*.log"))
    return "snapshot_blocked" in codes and not waiting and bool(delivered(agent_dir))


def all_events(state: ReleasedState, folder: Path) -> set[str]:
    """Event ids of all segments, from an agent without state."""
    folder.mkdir()
    fresh = AgentDir(folder)
    state.restore("offsets", fresh.offsets)
    for path in fresh.offsets.glob("*.properties*"):
        path.unlink()
    for name in state.recorded["segments"]:
        state.put_segment(name, fresh.cdc_raw)
    run_until_read(fresh)
    return set(ids(delivered(fresh)))


def test_agent_resumes_from_released_state_without_loss(
    state: ReleasedState, agent_dir: AgentDir, tmp_path: Path
) -> None:
    recorded, published = state.recorded, state.published()
    *finished, last = recorded["segments"]
    state.restore("offsets", agent_dir.offsets)
    state.restore("error", agent_dir.relocation / "error")
    state.put_segment(last, agent_dir.cdc_raw)
    answer = run_until_read(agent_dir)
    codes = {condition["code"] for condition in answer["conditions"]}
    assert codes == {
        "event_rejected",
        "schema_not_refreshed",
        "segment_quarantined",
        "snapshot_blocked",
    }

    events = delivered(agent_dir)
    before = {each["id"] for each in published if not each["snapshot"]}
    repeated = before & set(ids(events))
    unsaved = {
        each["id"]
        for each in published
        if recorded["saved_at"] < (in_segment(each["source"], last) or 0)
    }
    assert unsaved
    assert repeated == unsaved, "exactly the events after the stored offset"
    assert max(ids(events).values()) == 1
    assert {in_segment(each["headers"]["cdc.source"], last) for each in events}.isdisjoint({None})

    missing = all_events(state, tmp_path / "fresh") - before - set(ids(events))
    listed = agent("quarantine", "list", "--json", "--config", agent_dir.folder / "cdc.properties")
    assert listed.exit_code == 0, listed.errors
    quarantined = json.loads(listed.output)
    assert {each["segment"] for each in quarantined} == set(finished)
    assert len(missing) == 2, "the dead letter, and the row of the damage"


def test_quarantine_of_a_release_is_retried(state: ReleasedState, agent_dir: AgentDir) -> None:
    """The segment is whole again, as if restored from a backup."""
    damaged = state.recorded["segments"][1]
    state.restore("offsets", agent_dir.offsets)
    state.restore("error", agent_dir.relocation / "error")
    state.put_segment(damaged, agent_dir.relocation / "error")
    path = agent_dir.configuration(properties(agent_dir))
    done = agent("quarantine", "retry", damaged, "--config", path)
    assert done.exit_code == 0, done.errors
    run_until_read(agent_dir)
    assert not list((agent_dir.relocation / "error").glob(f"{damaged}*"))
    found = {in_segment(each["headers"]["cdc.source"], damaged) for each in delivered(agent_dir)}
    assert found
    assert None not in found


def test_state_files_of_a_release_are_read(state: ReleasedState, agent_dir: AgentDir) -> None:
    state.restore("offsets", agent_dir.offsets)
    node_id, segments = state.recorded["node_id"], state.recorded["segments"]

    def entries(name: str) -> Mapping[str, str]:
        stored = PropertiesStore(agent_dir.offsets, name, "shop").load()
        assert (stored.topic_prefix, stored.recovered_from_previous) == ("shop", None)
        return stored.values

    offsets = offsets_from_entries(entries(OFFSET_FILE), node_id)
    assert {each.log for each in (*offsets.completed, *offsets.positions)} == set(segments)
    assert [each.log for each in offsets.fingerprints] == [segments[-1]]
    (table,) = snapshot_offsets_from_entries(entries(SNAPSHOT_FILE), node_id).tables.values()
    assert (table.table, table.state.value) == ("shop.orders", "copying")
    journal = position_from_entries(entries(ACCORD_FILE), node_id)
    assert (journal.offset, journal.next_id) == (4096, 7)
    coverage = CoverageStore(agent_dir.offsets, "shop", node_id).load()
    assert coverage is not None
    assert list(coverage.holdings.tables) == ["shop.orders"]
    assert AnnouncementStore(agent_dir.offsets, node_id).load() is not None
    known = SchemaHistory(agent_dir.offsets).load()
    assert known is not None
    assert known.identity.node_id == node_id
    assert parse_note((agent_dir.offsets / READS_FILE).read_bytes()).boot_id


def test_offsets_of_a_release_are_shown(state: ReleasedState, agent_dir: AgentDir) -> None:
    state.restore("offsets", agent_dir.offsets)
    path = agent_dir.configuration(properties(agent_dir))
    shown = agent("offsets", "show", "--json", "--config", path)
    assert shown.exit_code == 0, shown.errors
    document = json.dumps(json.loads(shown.output))
    assert str(state.recorded["saved_at"]) in document
    assert state.recorded["node_id"] in document
