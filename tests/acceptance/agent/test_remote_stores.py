"""The agent sends its finished segments to Google Cloud Storage or to S3."""

import json
import re
import shutil
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from agent.check.store import check_store
from agent.config.loader import load_config
from agent.pipeline.steps import intake
from agent.transfer.quarantine_sync import QuarantineSyncSettings
from sidecar.check.check import Level
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
from tests.support.agents.agent_thread import AgentThread, running
from tests.support.agents.running_agent import is_drained, values
from tests.support.servers.fault_proxy import Fault, FaultProxy, Seen
from tests.support.servers.gcs import GcsServer
from tests.support.servers.s3 import CREDENTIALS, S3Server, refusal

pytestmark = pytest.mark.servers

PLACE = "remote.commit.log.relocation.dir"
NAME = "CommitLog-7-1.log"


@dataclass(frozen=True)
class Store:
    """Server with the bucket `archive`, behind a proxy that a test can script."""

    scheme: str
    server: GcsServer | S3Server
    proxy: FaultProxy

    @property
    def settings(self) -> dict[str, str]:
        name = {"gs": "io.debezium.connector.cassandra.GCSCommitLogTransfer", "s3": "s3"}
        endpoint = {"storage.s3.endpoint": self.proxy.url} if self.scheme == "s3" else {}
        return endpoint | {
            "commit.log.transfer.class": name[self.scheme],
            PLACE: f"{self.scheme}://archive/cdc",
            "commit.log.transfer.timeout.ms": "2000",
            "commit.log.transfer.retry.max.ms": "100",
        }

    def names(self) -> set[str]:
        return set(self.server.names("archive"))

    def contents(self) -> dict[str, bytes]:
        return {name: self.server.content("archive", name) for name in self.names()}


@pytest.fixture(scope="module")
def gcs_server() -> Iterator[GcsServer]:
    with GcsServer() as server:
        server.create_bucket("archive")
        yield server


@pytest.fixture
def gcs(gcs_server: GcsServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    with FaultProxy(gcs_server.port) as proxy:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
        yield Store("gs", gcs_server, proxy)
    for name in gcs_server.names("archive"):
        gcs_server.delete("archive", name)


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with S3Server() as server, FaultProxy(server.port) as proxy:
        server.create_bucket("archive")
        yield Store("s3", server, proxy)


@pytest.fixture(params=["gcs", "s3"])
def store(request: pytest.FixtureRequest) -> Store:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Store)
    return found


def checked(agent_dir: AgentDir, changes: dict[str, str]) -> tuple[Level, str, str]:
    (found,) = check_store(load_config([agent_dir.configuration(changes)]))
    assert (found.level is Level.OK) == (not found.remedy)
    return found.level, found.message, found.remedy


@pytest.mark.parametrize("directory", ["gcs://archive/cdc", "gs://archive/cdc", "gs://archive/"])
def test_check_accepts_gcs_urls(agent_dir: AgentDir, gcs: Store, directory: str) -> None:
    shown = directory.replace("gcs:", "gs:").removesuffix("/")
    level, message, _ = checked(agent_dir, {**gcs.settings, PLACE: directory})
    assert (level, message) == (Level.OK, f"{shown} is available.")
    assert gcs.names() == set(), "nothing is written"


def test_check_reports_a_missing_bucket(agent_dir: AgentDir, store: Store) -> None:
    bucket = f"{store.scheme}://nobodys"
    level, message, _ = checked(agent_dir, {**store.settings, PLACE: f"{bucket}/cdc"})
    assert level is Level.FAULT
    assert f"The bucket {bucket} does not exist" in message
    assert store.names() == set(), "nothing is written"


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
def test_check_reports_missing_gcs_rights(
    agent_dir: AgentDir, gcs: Store, held: list[str], level: Level, part: str
) -> None:
    """The emulator does not support this request, so the proxy answers like Google."""
    body = json.dumps({"kind": "storage#testIamPermissionsResponse", "permissions": held}).encode()
    gcs.proxy.plan = lambda seen: (
        Fault(status=200, body=body) if "/b/archive/iam/testPermissions?" in seen.path else None
    )
    found = checked(agent_dir, gcs.settings)
    assert found[0] is level
    assert part in found[1]


def test_check_reports_missing_s3_rights(agent_dir: AgentDir, s3: Store) -> None:
    assert isinstance(s3.server, S3Server)
    assert checked(agent_dir, s3.settings) == (Level.OK, "s3://archive/cdc is available.", "")
    assert s3.names() == set(), "nothing is written"
    assert s3.server.unfinished_uploads("archive") == []
    s3.proxy.plan = lambda seen: refusal(403, "AccessDenied") if begins_upload(seen) else None
    level, message, remedy = checked(agent_dir, s3.settings)
    assert level is Level.FAULT
    assert "it lacks s3:PutObject." in message
    assert "arn:aws:s3:::archive/cdc/*" in remedy


def begins_upload(seen: Seen) -> bool:
    return seen.method == "POST" and seen.path.endswith("?uploads")


def test_agent_check_reports_a_rejecting_store(agent_dir: AgentDir, store: Store) -> None:
    fault, part = {
        "gs": (Fault(status=403), f"Grant {CREATE}, {GET} and {LIST} in gs://archive"),
        "s3": (refusal(403, "InvalidAccessKeyId"), "rejects the credentials"),
    }[store.scheme]
    store.proxy.plan = lambda seen: fault
    outcome = agent("check", "--config", agent_dir.configuration(store.settings))
    assert outcome.exit_code == 1
    assert part in " ".join(outcome.output.split())


# `integration/stores` also tests failing uploads to S3.
@pytest.mark.parametrize(
    "store", ["gcs", pytest.param("s3", marks=pytest.mark.slow)], indirect=True
)
def test_segments_arrive_after_a_store_outage_and_a_kill(agent_dir: AgentDir, store: Store) -> None:
    """Meanwhile the agent delivers events and empties cdc_raw."""
    upload = agent_dir.relocation / "upload"
    node = agent_dir.folder / "cassandra.yaml"
    node.write_text(f"cdc_enabled: true\ncdc_raw_directory: {agent_dir.cdc_raw}\n")
    settings = {**store.settings, "cassandra.config": str(node)}
    contents = {}
    for number in (1, 2, 3):
        path = write_segment(agent_dir.cdc_raw, number, [[payload(number, b"%d" % number)]])
        for file in (path, path.with_name(f"{path.stem}_cdc.idx")):
            contents[f"cdc/node-1/archive/{file.name}"] = file.read_bytes()
    fault, message = {
        "gs": (Fault(status=503), f"failed for {NAME}"),
        "s3": (Fault(cut=True), f"does not answer for {NAME}"),
    }[store.scheme]
    store.proxy.plan = lambda seen: fault
    with running_agent.running(agent_dir, settings) as process:
        process.wait_until("the end of cdc_raw", lambda: is_drained(agent_dir))
        process.wait_until("the message", lambda: message in str(process.health()))
        health = process.health()
        assert health is not None
        assert not health.ok
        assert "3 finished segments" in health.messages["transfer"]
        assert health.messages["cdc_raw"].endswith("is watched")
    # Leaving the block killed the agent.
    assert values(agent_dir) == ["1", "2", "3"]
    assert len(list(upload.glob("CommitLog-*"))) == 6
    store.proxy.plan = None
    with running(agent_dir, settings) as process:
        process.wait_until("the last upload", lambda: not list(upload.iterdir()))
        process.wait_until("health", lambda: (now := process.health()) is not None and now.ok)
        assert process.stop() == 0
    assert store.contents() == contents
    assert values(agent_dir) == ["1", "2", "3"]


def gauge(process: AgentThread, name: str) -> float:
    with urllib.request.urlopen(f"{process.url}/metrics") as answer:
        found = re.search(rf"^{name} (\S+)$", answer.read().decode(), re.M)
    assert found is not None
    return float(found[1])


def test_full_transfer_backlog_keeps_segments_but_delivery_continues(
    agent_dir: AgentDir, gcs: Store
) -> None:
    paths = [write_segment(agent_dir.cdc_raw, n, [[payload(n, b"%d" % n)]]) for n in (1, 2, 3, 4)]
    one_bytes = sum(len(f.read_bytes()) for f in agent_dir.cdc_raw.iterdir()) // len(paths)
    bounded = {**gcs.settings, "commit.log.transfer.backlog.max.bytes": str(2 * one_bytes)}
    gcs.proxy.plan = lambda seen: Fault(status=503)
    with running(agent_dir, bounded) as process:
        process.wait_until(
            "every event",
            lambda: agent_dir.events.exists() and values(agent_dir) == ["1", "2", "3", "4"],
        )
        said = ("In total, 2 finished segments are in cdc_raw", f"failed for {NAME}")
        process.wait_until(
            "the sentences", lambda: all(part in str(process.health()) for part in said)
        )
        health = process.health()
        assert health is not None
        assert "commit.log.transfer.backlog.max.bytes" in health.messages["quarantine"]
        assert "segments that do not fit stay in cdc_raw" in health.messages["transfer"]
        assert [path.exists() for path in paths] == [False, False, True, True]
        assert gauge(process, "cdc_transfer_backlog_segments") == 2
        assert gauge(process, "cdc_transfer_backlog_bytes") <= 2 * one_bytes
        assert gauge(process, "cdc_transfer_backlog_limit_bytes") == 2 * one_bytes
        assert gauge(process, "cdc_transfer_up") == 0
        # The agent reads a segment that arrives meanwhile like any other.
        write_segment(agent_dir.cdc_raw, 5, [[payload(5, b"5")]])
        process.wait_until("the next event", lambda: values(agent_dir)[4:] == ["5"])
        gcs.proxy.plan = None
        process.wait_until("the end of cdc_raw", lambda: is_drained(agent_dir))
        process.wait_until("the last upload", lambda: len(gcs.names()) == 10)
        assert process.stop() == 0
    assert values(agent_dir) == ["1", "2", "3", "4", "5"]


def test_quarantined_segment_is_requeued_from_the_store(
    agent_dir: AgentDir, gcs: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change of an unknown table; then the schema contains the table, and the disk is new."""
    # Interval of the quarantine scan.
    monkeypatch.setattr(QuarantineSyncSettings.__init__, "__defaults__", (False, 0.1, 0.1, 1.0))
    monkeypatch.setattr(intake, "_REQUEUE_INTERVAL_S", 0.1)
    settings = {**gcs.settings, "segment.blocked.timeout.ms": "0"}
    path = write_segment(agent_dir.cdc_raw, 1, [[payload(1, b"a"), payload(2, b"b", OTHER_ID)]])
    content = path.read_bytes()
    files = (path.name, f"{path.stem}_cdc.idx")
    prefix, error = "cdc/node-1/error", agent_dir.relocation / "error"
    quarantined = {f"{prefix}/{name}" for name in files}
    with running(agent_dir, settings) as process:
        process.wait_until("the upload", lambda: gcs.names() == quarantined)
        process.wait_until("the file to go", lambda: not (error / path.name).exists())
        assert process.stop() == 0
    assert gcs.contents()[f"{prefix}/{path.name}"] == content
    listing = ("quarantine", "list", "--config", agent_dir.configuration(settings))
    (listed,) = json.loads(agent(*listing, "--json").output)
    assert (listed["remote"], listed["size_bytes"]) == (f"gs://archive/{prefix}", None)
    assert f"gs://archive/{prefix}" in agent(*listing).output

    shutil.rmtree(error)
    other = SCHEMA.replace("ks.t", "ks.u").replace(str(TABLE_ID), str(OTHER_ID))
    agent_dir.schema.write_text(SCHEMA + other)
    again = {**settings, "commit.log.error.reprocessing.enabled": "true"}
    archive = {f"cdc/node-1/archive/{name}" for name in files}
    with running(agent_dir, again) as process:
        process.wait_until("it in the archive", lambda: gcs.names() == archive)
        assert process.stop() == 0
    assert values(agent_dir) == ["a", "a", "b"]
    assert gcs.contents()[f"cdc/node-1/archive/{path.name}"] == content
    assert "Nothing is quarantined" in agent(*listing).output


def test_discard_also_removes_the_segment_in_the_store(agent_dir: AgentDir, store: Store) -> None:
    error = agent_dir.relocation / "error"
    error.mkdir()
    (error / f"{NAME}.remote").write_text(f"{store.scheme}://archive/cdc/node-1/error\n")
    store.server.put("archive", f"cdc/node-1/error/{NAME}", b"segment")
    configuration = agent_dir.configuration(store.settings)
    discard = ("quarantine", "discard", NAME, "--yes", "--config", configuration)
    if store.scheme == "gs":
        store.proxy.plan = lambda seen: Fault(status=403)
        outcome = agent(*discard)
        assert outcome.exit_code == 1
        assert "Google Cloud Storage denies" in outcome.errors
        assert len(outcome.errors.strip().splitlines()) == 1
        store.proxy.plan = None
    outcome = agent(*discard)
    assert (outcome.exit_code, outcome.errors) == (0, "")
    assert store.names() == set()
    assert list(error.iterdir()) == []
