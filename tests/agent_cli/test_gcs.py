"""The agent that sends its finished segments to Google Cloud Storage, as a process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent_cli.command import agent
from tests.agent_cli.site import Site, payload, write_segment
from tests.agent_cli.test_run import DEADLINE_S, is_drained, running, values
from tests.harness.gcs import Fault, FaultProxy, GcsServer

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


@pytest.mark.parametrize(
    ("status", "exit_code", "part"), [(None, 0, "gs://archive/cdc answers"), (403, 1, "get there")]
)
def test_a_check_asks_the_store(
    site: Site,
    server: GcsServer,
    monkeypatch: pytest.MonkeyPatch,
    status: int | None,
    exit_code: int,
    part: str,
) -> None:
    with FaultProxy(server.port) as proxy:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
        if status is not None:
            proxy.plan = lambda seen: Fault(status=status)
        outcome = agent("check", "--config", site.configuration(SETTINGS))
    assert part in " ".join(outcome.output.split())
    assert (outcome.exit_code != 0) == (exit_code != 0)


def test_the_store_is_away_the_agent_is_killed_and_every_segment_arrives(
    site: Site, server: GcsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events go on meanwhile, and cdc_raw does not fill up."""
    upload = site.relocation / "upload"
    contents = {}
    for number in (1, 2, 3):
        path = write_segment(site.cdc_raw, number, [[payload(number, b"%d" % number)]])
        contents[f"cdc/node-1/archive/{path.name}"] = path.read_bytes()
    with FaultProxy(server.port) as proxy:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
        proxy.plan = lambda seen: Fault(status=503)
        with running(site, SETTINGS) as process:
            process.wait_until("the end of cdc_raw", lambda: is_drained(site), DEADLINE_S)
            process.wait_until(
                "the sentence",
                lambda: "does not take CommitLog-7-1.log" in str(process.health()),
                DEADLINE_S,
            )
            health = process.health()
            assert health is not None
            assert not health.ok
            assert "3 finished segments" in health.sentences["transfer"]
            assert health.sentences["cdc_raw"].endswith("is followed")
        # Leaving the block has killed it.
        assert values(site) == ["1", "2", "3"]
        assert len(list(upload.iterdir())) == 3
        proxy.plan = None
        with running(site, SETTINGS) as process:
            process.wait_until("the last upload", lambda: not list(upload.iterdir()), DEADLINE_S)
            process.wait_until(
                "the health", lambda: (now := process.health()) is not None and now.ok, DEADLINE_S
            )
            assert process.stop() == 0
    assert {name: server.content("archive", name) for name in server.names("archive")} == contents
    assert values(site) == ["1", "2", "3"]
