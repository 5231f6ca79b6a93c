"""The agent that sends its finished segments to Google Cloud Storage, as a process."""

import json
import re
import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.check.store import check_store
from agent.config.loader import load_config
from examples.agent_process import AgentProcess
from sidecar.check.finding import Level
from tests.support.agents import running_agent
from tests.support.agents.agent_directory import (
    OTHER_ID,
    SCHEMA,
    TABLE_ID,
    AgentDir,
    payload,
    write_segment,
)
from tests.support.agents.agent_main import agent
from tests.support.agents.agent_thread import running
from tests.support.agents.running_agent import DEADLINE_S, is_drained, values
from tests.support.servers.fault_proxy import Fault, FaultProxy
from tests.support.servers.gcs import GcsServer

pytestmark = pytest.mark.servers

SETTINGS = {
    "commit.log.transfer.class": "io.debezium.connector.cassandra.GCSCommitLogTransfer",
    "remote.commit.log.relocation.dir": "gcs://archive/cdc",
    "commit.log.transfer.timeout.ms": "1000",
    "commit.log.transfer.retry.max.ms": "100",
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GcsServer]:
    with GcsServer(tmp_path) as server:
        server.create_bucket("archive")
        yield server


def checked(agent_dir: AgentDir, changes: dict[str, str]) -> tuple[Level, str]:
    (found,) = check_store(load_config([agent_dir.configuration({**SETTINGS, **changes})]))
    assert (found.level is Level.OK) == (not found.remedy)
    return found.level, found.message


@pytest.mark.parametrize("directory", ["gcs://archive/cdc", "gs://archive/cdc", "gs://archive/"])
def test_a_check_asks_the_store(
    agent_dir: AgentDir, server: GcsServer, monkeypatch: pytest.MonkeyPatch, directory: str
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
    shown = directory.replace("gcs:", "gs:").removesuffix("/")
    found = checked(agent_dir, {"remote.commit.log.relocation.dir": directory})
    assert found == (Level.OK, f"{shown} is available.")
    assert server.names("archive") == [], "nothing is written"


def test_a_check_names_a_bucket_that_is_not_there(
    agent_dir: AgentDir, server: GcsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
    level, sentence = checked(agent_dir, {"remote.commit.log.relocation.dir": "gs://nobodys/cdc"})
    assert level is Level.FAULT
    assert (
        "The bucket gs://nobodys does not exist. Create it, or correct remote.commit.log"
        in sentence
    )


CREATE, GET = "storage.objects.create", "storage.objects.get"
LIST, DELETE = "storage.objects.list", "storage.objects.delete"


@pytest.mark.parametrize(
    ("held", "level", "part"),
    [
        ([CREATE, GET, LIST, DELETE], Level.OK, "gs://archive/cdc is available."),
        ([CREATE, GET, LIST], Level.WARNING, f"but the agent lacks {DELETE}"),
        ([CREATE, GET], Level.FAULT, f"it lacks {LIST}."),
        ([GET, LIST], Level.FAULT, f"not send segments to gs://archive/cdc: it lacks {CREATE}."),
        ([], Level.FAULT, f"it lacks {CREATE}, {GET} and {LIST}."),
    ],
)
def test_a_check_names_the_rights_that_are_missing(
    agent_dir: AgentDir,
    server: GcsServer,
    monkeypatch: pytest.MonkeyPatch,
    held: list[str],
    level: Level,
    part: str,
) -> None:
    """The emulator does not know the question, so the way to it answers as Google does."""
    body = json.dumps({"kind": "storage#testIamPermissionsResponse", "permissions": held}).encode()
    with FaultProxy(server.port) as proxy:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
        proxy.plan = lambda seen: (
            Fault(status=200, body=body) if "/b/archive/iam/testPermissions?" in seen.path else None
        )
        found = checked(agent_dir, {})
    assert found[0] is level
    assert part in found[1]


def test_agent_check_reports_a_rejecting_store(
    agent_dir: AgentDir, server: GcsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FaultProxy(server.port) as proxy:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
        proxy.plan = lambda seen: Fault(status=403)
        outcome = agent("check", "--config", agent_dir.configuration(SETTINGS))
    assert outcome.exit_code == 1
    assert f"Grant {CREATE}, {GET} and {LIST} in gs://archive" in " ".join(outcome.output.split())


def test_the_store_is_away_the_agent_is_killed_and_every_segment_arrives(
    agent_dir: AgentDir, server: GcsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Delivery continues meanwhile, and cdc_raw does not fill up."""
    upload = agent_dir.relocation / "upload"
    node = agent_dir.folder / "cassandra.yaml"
    node.write_text(f"cdc_enabled: true\ncdc_raw_directory: {agent_dir.cdc_raw}\n")
    settings = {**SETTINGS, "cassandra.config": str(node)}
    contents = {}
    for number in (1, 2, 3):
        path = write_segment(agent_dir.cdc_raw, number, [[payload(number, b"%d" % number)]])
        for file in (path, path.with_name(f"{path.stem}_cdc.idx")):
            contents[f"cdc/node-1/archive/{file.name}"] = file.read_bytes()
    with FaultProxy(server.port) as proxy:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
        proxy.plan = lambda seen: Fault(status=503)
        with running_agent.running(agent_dir, settings) as process:
            process.wait_until("the end of cdc_raw", lambda: is_drained(agent_dir), DEADLINE_S)
            process.wait_until(
                "the sentence",
                lambda: "failed for CommitLog-7-1.log" in str(process.health()),
                DEADLINE_S,
            )
            health = process.health()
            assert health is not None
            assert not health.ok
            assert "3 finished segments" in health.messages["transfer"]
            assert health.messages["cdc_raw"].endswith("is followed")
        # Leaving the block has killed it.
        assert values(agent_dir) == ["1", "2", "3"]
        assert len(list(upload.iterdir())) == 6
        proxy.plan = None
        with running(agent_dir, settings) as process:
            process.wait_until("the last upload", lambda: not list(upload.iterdir()), DEADLINE_S)
            process.wait_until(
                "the health", lambda: (now := process.health()) is not None and now.ok, DEADLINE_S
            )
            assert process.stop() == 0
    assert {name: server.content("archive", name) for name in server.names("archive")} == contents
    assert values(agent_dir) == ["1", "2", "3"]


def gauge(process: AgentProcess, name: str) -> float | None:
    with urllib.request.urlopen(f"{process.url}/metrics", timeout=60) as answer:
        found = re.search(rf"^{name} (\S+)$", answer.read().decode(), re.M)
    return float(found[1]) if found else None


def test_a_full_backlog_keeps_segments_in_cdc_raw_and_events_go_on(
    agent_dir: AgentDir, server: GcsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [write_segment(agent_dir.cdc_raw, n, [[payload(n, b"%d" % n)]]) for n in (1, 2, 3, 4)]
    one_bytes = sum(len(f.read_bytes()) for f in agent_dir.cdc_raw.iterdir()) // len(paths)
    bounded = {**SETTINGS, "commit.log.transfer.backlog.max.bytes": str(2 * one_bytes)}
    with FaultProxy(server.port) as proxy:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
        proxy.plan = lambda seen: Fault(status=503)
        with running(agent_dir, bounded) as process:
            process.wait_until(
                "every event",
                lambda: agent_dir.events.exists() and values(agent_dir) == ["1", "2", "3", "4"],
                DEADLINE_S,
            )
            said = ("2 finished segments are in cdc_raw in all", "failed for CommitLog-7-1.log")
            process.wait_until(
                "the sentences",
                lambda: all(part in str(process.health()) for part in said),
                DEADLINE_S,
            )
            health = process.health()
            assert health is not None
            assert "commit.log.transfer.backlog.max.bytes" in health.messages["quarantine"]
            assert "those that have no room stay in cdc_raw" in health.messages["transfer"]
            assert {path.name for path in paths if path.exists()} == {paths[2].name, paths[3].name}
            assert gauge(process, "cdc_transfer_backlog_segments") == 2
            backlog_bytes = gauge(process, "cdc_transfer_backlog_bytes")
            assert backlog_bytes is not None
            assert backlog_bytes <= 2 * one_bytes
            assert gauge(process, "cdc_transfer_backlog_limit_bytes") == 2 * one_bytes
            assert gauge(process, "cdc_transfer_up") == 0
            # A segment that comes meanwhile is read like any other.
            write_segment(agent_dir.cdc_raw, 5, [[payload(5, b"5")]])
            process.wait_until("the next event", lambda: values(agent_dir)[4:] == ["5"], DEADLINE_S)
            proxy.plan = None
            process.wait_until("the end of cdc_raw", lambda: is_drained(agent_dir), DEADLINE_S)
            process.wait_until(
                "the last upload", lambda: len(server.names("archive")) == 10, DEADLINE_S
            )
            assert process.stop() == 0
    assert values(agent_dir) == ["1", "2", "3", "4", "5"]


def test_quarantined_segments_are_there_and_come_back_on_another_disk(
    agent_dir: AgentDir, server: GcsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change of a table that nobody knows; then its schema is known, and the disk another."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
    settings = {**SETTINGS, "segment.blocked.timeout.ms": "0"}
    path = write_segment(agent_dir.cdc_raw, 1, [[payload(1, b"a"), payload(2, b"b", OTHER_ID)]])
    log, idx = path.name, f"{path.stem}_cdc.idx"
    content = path.read_bytes()
    prefix = "cdc/node-1/error"
    with running(agent_dir, settings) as process:
        process.wait_until(
            "the upload",
            lambda: set(server.names("archive")) == {f"{prefix}/{log}", f"{prefix}/{idx}"},
            DEADLINE_S,
        )
        error = agent_dir.relocation / "error"
        process.wait_until("the file to go", lambda: not (error / log).exists(), DEADLINE_S)
        assert process.stop() == 0
    assert server.content("archive", f"{prefix}/{log}") == content
    configuration = agent_dir.configuration(settings)
    (listed,) = json.loads(agent("quarantine", "list", "--json", "--config", configuration).output)
    assert (listed["remote"], listed["size_bytes"]) == (f"gs://archive/{prefix}", None)
    assert f"gs://archive/{prefix}" in agent("quarantine", "list", "--config", configuration).output

    shutil.rmtree(error)
    agent_dir.schema.write_text(
        SCHEMA + SCHEMA.replace("ks.t", "ks.u").replace(str(TABLE_ID), str(OTHER_ID))
    )
    again = {**settings, "commit.log.error.reprocessing.enabled": "true"}
    archive = {f"cdc/node-1/archive/{name}" for name in (log, idx)}
    with running(agent_dir, again) as process:
        process.wait_until(
            "it in the archive", lambda: set(server.names("archive")) == archive, DEADLINE_S
        )
        assert process.stop() == 0
    assert values(agent_dir) == ["a", "a", "b"]
    assert server.content("archive", f"cdc/node-1/archive/{log}") == content
    assert "Nothing is quarantined" in agent("quarantine", "list", "--config", configuration).output


def test_a_segment_that_was_sent_is_discarded_there_too(
    agent_dir: AgentDir, server: GcsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
    error = agent_dir.relocation / "error"
    error.mkdir()
    name = "CommitLog-7-1.log"
    (error / f"{name}.remote").write_text("gs://archive/cdc/node-1/error\n")
    server.put("archive", f"cdc/node-1/error/{name}", b"segment")
    configuration = agent_dir.configuration(SETTINGS)
    with FaultProxy(server.port) as proxy:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
        proxy.plan = lambda seen: Fault(status=403)
        outcome = agent("quarantine", "discard", name, "--yes", "--config", configuration)
    assert outcome.exit_code == 1
    assert "Google Cloud Storage denies" in outcome.errors
    assert len(outcome.errors.strip().splitlines()) == 1
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
    outcome = agent("quarantine", "discard", name, "--yes", "--config", configuration)
    assert (outcome.exit_code, outcome.errors) == (0, "")
    assert server.names("archive") == []
    assert list(error.iterdir()) == []
