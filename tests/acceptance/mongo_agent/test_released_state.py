"""The agent resumes from the offset and the snapshot progress of every release."""

from pathlib import Path

import pytest

from mongo_agent.offsets import OFFSET_FILE
from mongo_agent.offsets.agent_offsets import parse_offsets
from sidecar.offsets.properties_store import PropertiesStore
from tests.support.agents.released_state import ReleasedState, released_versions
from tests.support.record.state.mongodb import (
    STORED,
    STREAMED,
    WRITTEN,
    customers,
    insert,
    properties,
    published,
)
from tests.support.servers.agent_process import AgentProcess


@pytest.mark.parametrize("version", released_versions())
def test_offsets_of_a_release_are_read(version: str, tmp_path: Path) -> None:
    ReleasedState.of(version, "mongodb").restore("offsets", tmp_path)
    stored = PropertiesStore(tmp_path, OFFSET_FILE, "shop").load()
    assert (stored.topic_prefix, stored.recovered_from_previous) == ("shop", None)
    (offset,) = parse_offsets(stored.values, "rs0").streams.values()
    (collection,) = offset.snapshot.collections
    assert (collection.namespace, len(collection.chunks)) == ("shop.customers", 2)
    assert offset.stream.fingerprint is not None


@pytest.mark.parametrize("version", released_versions())
def test_agent_resumes_from_released_state_without_loss(version: str, tmp_path: Path) -> None:
    state = ReleasedState.of(version, "mongodb")
    state.restore("offsets", tmp_path / "offsets")
    before = state.published()
    with customers() as (replica_set, client):
        for number in range(STORED, WRITTEN + STREAMED):
            insert(client, number)
        agent = AgentProcess("mongo-agent", tmp_path, properties(replica_set, tmp_path))
        agent.launch()
        with agent:

            def is_complete() -> bool:
                after = published(tmp_path / "events.ndjson")
                copied = {each["number"] for each in [*before, *after] if each["operation"] == "r"}
                streamed = {each["number"] for each in after if each["operation"] == "c"}
                return copied >= set(range(STORED)) and WRITTEN + STREAMED - 1 in streamed

            agent.wait_until(is_complete, "all documents")
            agent.stop()
    after = published(tmp_path / "events.ndjson")
    streamed = {
        each["id"]: each["number"] for each in [*before, *after] if each["operation"] == "c"
    }
    assert sorted(streamed.values()) == list(range(STORED, WRITTEN + STREAMED))
    repeated = {each["id"] for each in before} & {each["id"] for each in after}
    numbers = {each["number"] for each in after if each["id"] in repeated}
    assert repeated
    assert numbers <= set(range(STORED)) | set(range(WRITTEN - 2 * STREAMED, WRITTEN))
    copied_again = [each for each in after if each["id"] in repeated and each["operation"] == "r"]
    assert len(copied_again) <= 2, "at most the chunks that were being read"
