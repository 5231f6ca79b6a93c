"""`agent check` without servers: findings and their severity."""

import dataclasses
import os
from collections.abc import Iterable

import pytest

from agent.cdc_raw.observation import observe
from agent.check.checks import CHECKS
from agent.check.directories import (
    check_cdc_raw_usage,
    check_directory_rights,
    check_foreign_files,
    check_offsets,
)
from agent.check.node import check_settings
from agent.check.probe import command_probe
from agent.check.segments import check_keys
from agent.cli.segment_files import find_segments
from agent.config.loader import OFFSET_FILE, AgentConfig, load_config
from agent.config.node_settings import NodeSettings, settings_of_node
from sidecar.check.check import Finding, Level
from sidecar.check.running import run_checks
from sidecar.offsets.properties_store import PropertiesStore
from tests.support.agents.agent_directory import OTHER_ID, SCHEMA, AgentDir, payload, write_segment
from tests.support.agents.agent_main import agent

HEALTHY = settings_of_node("the test", {"cdc_enabled": "true", "commitlog_sync_period": "100ms"})


def config(agent_dir: AgentDir) -> AgentConfig:
    return load_config([agent_dir.configuration()])


def all_findings(known: AgentConfig) -> list[Finding]:
    return list(run_checks(CHECKS, command_probe(known)))


def levels(findings: Iterable[Finding]) -> dict[str, Level]:
    """Worst level of each subject."""
    worst: dict[str, Level] = {}
    order = list(Level)
    for finding in findings:
        known = worst.get(finding.subject, Level.OK)
        worst[finding.subject] = max(known, finding.level, key=order.index)
        assert bool(finding.remedy) is (finding.level is not Level.OK)
    return worst


def test_check_prints_findings_as_text_lines(agent_dir: AgentDir) -> None:
    write_segment(agent_dir.cdc_raw, 1, [[payload(1)]])
    yaml = agent_dir.folder / "cassandra.yaml"
    yaml.write_text("cdc_enabled: true\ncommitlog_sync: batch\n")
    path = agent_dir.configuration({"cassandra.config": str(yaml)})
    done = agent("check", "--config", path)
    assert done.exit_code == 0, done.output
    assert "1 of 1 captured tables: ks.t." in done.output
    assert "1 segments, " in done.output
    assert not [line for line in done.output.splitlines() if line.startswith("fault")]
    agent_dir.schema.write_text("CREATE TABLE (")
    done = agent("check", "--config", path)
    assert done.exit_code == 1
    assert f"fault    schema: schema.file: {agent_dir.schema}" in done.output


@pytest.mark.parametrize(
    ("used_mib", "level"), [(1, Level.OK), (6, Level.WARNING), (9, Level.FAULT)]
)
def test_cdc_raw_usage_sets_the_severity(agent_dir: AgentDir, used_mib: int, level: Level) -> None:
    path = write_segment(agent_dir.cdc_raw, 1, [])
    with path.open("r+b") as file:
        file.truncate(used_mib << 20)
    settings = dataclasses.replace(HEALTHY, cdc_total_bytes=(10 << 20) - 1)
    found = list(check_cdc_raw_usage(config(agent_dir), observe(agent_dir.cdc_raw), settings))
    assert [finding.level for finding in found] == [level]
    assert "the node rejects writes" in found[0].message
    settings = dataclasses.replace(settings, cdc_block_writes=False)
    (finding,) = check_cdc_raw_usage(config(agent_dir), observe(agent_dir.cdc_raw), settings)
    assert "deletes the oldest segments unread" in finding.message


def test_unexpected_files_are_a_warning(agent_dir: AgentDir) -> None:
    (agent_dir.cdc_raw / "notes.txt").touch()
    (finding,) = check_foreign_files(config(agent_dir), observe(agent_dir.cdc_raw))
    assert (finding.level, finding.code) == (Level.WARNING, "cdc_raw_unexpected_files")


def test_planted_segment_is_a_fault(agent_dir: AgentDir) -> None:
    (agent_dir.cdc_raw / "CommitLog-7-2.log").symlink_to(agent_dir.folder / "nowhere")
    os.mkfifo(agent_dir.cdc_raw / "CommitLog-7-3_cdc.idx")
    (finding,) = check_foreign_files(config(agent_dir), observe(agent_dir.cdc_raw))
    assert (finding.level, finding.code) == (Level.FAULT, "segment_not_regular_file")
    assert "CommitLog-7-2.log, CommitLog-7-3_cdc.idx" in finding.message


def test_world_writable_directory_is_a_fault(agent_dir: AgentDir) -> None:
    assert list(check_directory_rights(config(agent_dir))) == []
    agent_dir.offsets.chmod(0o777)
    (finding,) = check_directory_rights(config(agent_dir))
    assert (finding.level, finding.code) == (Level.FAULT, "directory_world_writable")
    assert f"chmod o-w {agent_dir.offsets}" in finding.message
    agent_dir.offsets.chmod(0o1777)
    assert list(check_directory_rights(config(agent_dir))) == []


def test_pipe_named_like_a_segment_is_not_opened(agent_dir: AgentDir) -> None:
    """Opening a FIFO would block until another process writes to it."""
    write_segment(agent_dir.cdc_raw, 1, [[payload(1)]])
    os.mkfifo(agent_dir.cdc_raw / "CommitLog-7-2.log")
    (agent_dir.cdc_raw / "CommitLog-7-2_cdc.idx").write_text("5\nCOMPLETED")
    assert list(check_keys(config(agent_dir), observe(agent_dir.cdc_raw))) == []
    assert [segment.name.id for segment in find_segments([agent_dir.cdc_raw])] == [1]


def test_node_settings_set_the_severity() -> None:
    assert set(levels(check_settings(HEALTHY)).values()) == {Level.OK}
    slow: list[tuple[NodeSettings, str, Level]] = [
        (settings_of_node("t", {}), "cdc_enabled", Level.FAULT),
        (settings_of_node("t", {"cdc_enabled": "true"}), "latency", Level.WARNING),
        (settings_of_node("t", {"commitlog_sync": "batch"}), "latency", Level.OK),
    ]
    for settings, subject, level in slow:
        assert levels(check_settings(settings))[subject] is level


def test_stored_offsets_set_the_severity(agent_dir: AgentDir) -> None:
    known = config(agent_dir)
    assert levels(check_offsets(known, "node-1"))["offsets"] is Level.OK
    store = PropertiesStore(agent_dir.offsets, OFFSET_FILE)
    store.save({"node.id": "node-1", "CommitLog-7-1.log": "100"})
    store.save({"node.id": "node-1", "CommitLog-7-1.log": "200"})
    assert levels(check_offsets(known, "node-1"))["offsets"] is Level.OK
    assert levels(check_offsets(known, None))["offsets"] is Level.OK
    assert levels(check_offsets(known, "node-2"))["offsets"] is Level.FAULT
    store.path.write_bytes(store.path.read_bytes().replace(b"200", b"201"))
    assert levels(check_offsets(known, "node-1"))["offsets"] is Level.WARNING
    store.previous_path.write_bytes(b"")
    assert levels(check_offsets(known, "node-1"))["offsets"] is Level.FAULT


def test_offsets_show_prints_stored_offsets(agent_dir: AgentDir) -> None:
    path = agent_dir.configuration()
    assert "No offsets are stored" in agent("offsets", "show", "--config", path).output
    assert '"segments": {}' in agent("offsets", "show", "--json", "--config", path).output
    store = PropertiesStore(agent_dir.offsets, OFFSET_FILE)
    entries = {"node.id": "node-1", "CommitLog-7-1.log": "COMPLETED", "CommitLog-7-2.log": "77"}
    store.save(entries)
    shown = agent("offsets", "show", "--config", path).output
    assert "CommitLog-7-1.log" in shown
    assert "COMPLETED" in shown
    assert '"CommitLog-7-2.log": 77' in agent("offsets", "show", "--json", "--config", path).output
    store.save(entries)
    store.path.write_bytes(b"#sha256=00\n")
    done = agent("offsets", "show", "--config", path)
    assert done.exit_code == 0
    assert "warning: " in done.errors
    store.previous_path.unlink()
    done = agent("offsets", "show", "--config", path)
    assert done.exit_code == len(done.errors.splitlines()) == 1


def test_check_queries_topics_of_published_tables(
    agent_dir: AgentDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The topic of a skipped counter table is not required."""
    agent_dir.schema.write_text(
        SCHEMA + f"CREATE TABLE ks.hits (k text PRIMARY KEY, n counter) WITH ID = {OTHER_ID} "
        "AND cdc = true;"
    )
    monkeypatch.setattr("sidecar.check.broker.existing_topics", lambda *_: {"my-shop.ks.t": 1})
    monkeypatch.setattr("sidecar.check.broker.unwritable_topics", lambda *_: [])
    monkeypatch.setattr("sidecar.check.broker.compacted_topics", lambda *_: [])
    changes = {
        "topic.prefix": "my-shop",
        "sink": "kafka",
        "file.path": None,
        "kafka.producer.bootstrap.servers": "127.0.0.1:1",
    }
    found = all_findings(load_config([agent_dir.configuration(changes)]))
    sentences = [finding.message for finding in found if finding.subject in ("tables", "topics")]
    assert sentences == [
        "Skipped counter tables (`counter.events=skip`): ks.hits.",
        "Published: 1 of 1 captured tables: ks.t.",
        "All 1 topics exist.",
    ]
    shards = load_config([agent_dir.configuration(changes)], ["counter.events=shards"])
    assert "1 topics do not exist" in str([finding.message for finding in all_findings(shards)])
