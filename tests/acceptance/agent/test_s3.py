"""The agent that sends its finished segments to S3, as a process."""

import json
import shutil
from collections.abc import Iterator

import pytest

from agent.check.store import check_store
from agent.config.loader import load_config
from sidecar.check.finding import Level
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
from tests.support.servers.fault_proxy import Fault, FaultProxy, Seen
from tests.support.servers.s3 import CREDENTIALS, S3Server, refusal

pytestmark = pytest.mark.servers


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with S3Server() as server:
        server.create_bucket("archive")
        yield server


def settings(url: str) -> dict[str, str]:
    return {
        "commit.log.transfer.class": "s3",
        "remote.commit.log.relocation.dir": "s3://archive/cdc",
        "storage.s3.endpoint": url,
        "commit.log.transfer.timeout.ms": "2000",
        "commit.log.transfer.retry.max.ms": "100",
    }


def checked(agent_dir: AgentDir, changes: dict[str, str]) -> tuple[Level, str, str]:
    (found,) = check_store(load_config([agent_dir.configuration(changes)]))
    return found.level, found.message, found.remedy


def begins_upload(seen: Seen) -> bool:
    return seen.method == "POST" and seen.path.endswith("?uploads")


def test_check_names_missing_bucket_and_rights(agent_dir: AgentDir, server: S3Server) -> None:
    with FaultProxy(server.port) as proxy:
        there = settings(proxy.url)
        assert checked(agent_dir, there) == (Level.OK, "s3://archive/cdc is available.", "")
        assert server.names("archive") == [], "nothing is written"
        assert server.unfinished_uploads("archive") == []
        missing = there | {"remote.commit.log.relocation.dir": "s3://nobodys/cdc"}
        level, message, _ = checked(agent_dir, missing)
        assert level is Level.FAULT
        assert "The bucket s3://nobodys does not exist" in message
        proxy.plan = lambda seen: refusal(403, "AccessDenied") if begins_upload(seen) else None
        level, message, remedy = checked(agent_dir, there)
        assert level is Level.FAULT
        assert "it lacks s3:PutObject." in message
        assert "arn:aws:s3:::archive/cdc/*" in remedy
        proxy.plan = lambda seen: refusal(403, "InvalidAccessKeyId")
        outcome = agent("check", "--config", agent_dir.configuration(there))
    assert outcome.exit_code == 1
    assert "rejects the credentials" in " ".join(outcome.output.split())


def test_store_is_away_the_agent_is_killed_and_every_segment_arrives(
    agent_dir: AgentDir, server: S3Server
) -> None:
    upload = agent_dir.relocation / "upload"
    contents = {}
    for number in (1, 2):
        path = write_segment(agent_dir.cdc_raw, number, [[payload(number, b"%d" % number)]])
        for file in (path, path.with_name(f"{path.stem}_cdc.idx")):
            contents[f"cdc/node-1/archive/{file.name}"] = file.read_bytes()
    with FaultProxy(server.port) as proxy:
        proxy.plan = lambda seen: Fault(cut=True)
        with running(agent_dir, settings(proxy.url)) as process:
            process.wait_until("the end of cdc_raw", lambda: is_drained(agent_dir), DEADLINE_S)
            process.wait_until(
                "the message",
                lambda: "does not answer for CommitLog-7-1.log" in str(process.health()),
                DEADLINE_S,
            )
            # Leaving the block kills it.
        assert {file.name for file in upload.glob("CommitLog-*")} == {
            name.rpartition("/")[2] for name in contents
        }
        proxy.plan = None
        with running(agent_dir, settings(proxy.url)) as process:
            process.wait_until("the upload", lambda: not list(upload.iterdir()), DEADLINE_S)
            assert process.stop() == 0
    assert values(agent_dir) == ["1", "2"]
    assert {name: server.content("archive", name) for name in contents} == contents


@pytest.mark.slow
def test_quarantined_segments_are_there_and_come_back_on_another_disk(
    agent_dir: AgentDir, server: S3Server
) -> None:
    changes = {**settings(server.url), "segment.blocked.timeout.ms": "0"}
    path = write_segment(agent_dir.cdc_raw, 1, [[payload(1, b"a"), payload(2, b"b", OTHER_ID)]])
    log, idx = path.name, f"{path.stem}_cdc.idx"
    content, prefix = path.read_bytes(), "cdc/node-1/error"
    error = agent_dir.relocation / "error"
    with running(agent_dir, changes) as process:
        process.wait_until(
            "the upload",
            lambda: set(server.names("archive")) == {f"{prefix}/{log}", f"{prefix}/{idx}"},
            DEADLINE_S,
        )
        process.wait_until("the file to go", lambda: not (error / log).exists(), DEADLINE_S)
        assert process.stop() == 0
    configuration = agent_dir.configuration(changes)
    (listed,) = json.loads(agent("quarantine", "list", "--json", "--config", configuration).output)
    assert listed["remote"] == f"s3://archive/{prefix}"

    shutil.rmtree(error)
    agent_dir.schema.write_text(
        SCHEMA + SCHEMA.replace("ks.t", "ks.u").replace(str(TABLE_ID), str(OTHER_ID))
    )
    archive = {f"cdc/node-1/archive/{name}" for name in (log, idx)}
    again = {**changes, "commit.log.error.reprocessing.enabled": "true"}
    with running(agent_dir, again) as process:
        process.wait_until(
            "it in the archive", lambda: set(server.names("archive")) == archive, DEADLINE_S
        )
        assert process.stop() == 0
    assert values(agent_dir) == ["a", "a", "b"]
    assert server.content("archive", f"cdc/node-1/archive/{log}") == content


def test_sent_segment_is_discarded_there_too(agent_dir: AgentDir, server: S3Server) -> None:
    error = agent_dir.relocation / "error"
    error.mkdir()
    name = "CommitLog-7-1.log"
    (error / f"{name}.remote").write_text("s3://archive/cdc/node-1/error\n")
    server.put("archive", f"cdc/node-1/error/{name}", b"segment")
    configuration = agent_dir.configuration(settings(server.url))
    outcome = agent("quarantine", "discard", name, "--yes", "--config", configuration)
    assert (outcome.exit_code, outcome.errors) == (0, "")
    assert server.names("archive") == []
