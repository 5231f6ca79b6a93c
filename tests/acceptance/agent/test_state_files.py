"""State files: version of the format, the prefix of their topics, and files of release 0.1.0."""

import hashlib
import shutil
from pathlib import Path

import pytest

from sidecar.errors import ConfigError, OffsetStoreError
from sidecar.offsets.properties_store import FORMAT_VERSION, PropertiesStore, decode, encode
from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.agent_main import agent

OLD = Path(__file__).parent / "state-0.1.0" / "cassandra"
NAME = "segment_offset.properties"
VALUES = {"node.id": "node-1", "CommitLog-7-1.log": "COMPLETED"}


def of_version(version: str) -> bytes:
    """The file as a release of that format would write it."""
    body = encode(VALUES).split(b"\n", 1)[1]
    body = body.replace(
        f"#format.version={FORMAT_VERSION}".encode(), f"#format.version={version}".encode()
    )
    return b"#sha256=" + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def test_a_file_of_0_1_0_is_read_and_adopted(tmp_path: Path) -> None:
    shutil.copytree(OLD, tmp_path, dirs_exist_ok=True)
    store = PropertiesStore(tmp_path, NAME, "shop")
    stored = store.load()
    assert stored.topic_prefix is None
    assert stored.values["CommitLog-7-1700000000002.log"] == "81922"
    store.adopt(stored)
    again = PropertiesStore(tmp_path, NAME, "shop").load()
    assert (again.values, again.topic_prefix) == (stored.values, "shop")
    with pytest.raises(ConfigError, match="accept-prefix"):
        PropertiesStore(tmp_path, NAME, "other").load()


def test_version_and_prefix_are_comments_for_0_1_0(tmp_path: Path) -> None:
    store = PropertiesStore(tmp_path, NAME, "shop")
    store.save(VALUES)
    assert decode(store.path.read_bytes()) == VALUES
    assert f"#format.version={FORMAT_VERSION}\n#topic.prefix=shop\n" in store.path.read_text()


def test_a_newer_version_is_rejected_even_with_a_good_previous_copy(tmp_path: Path) -> None:
    store = PropertiesStore(tmp_path, NAME)
    store.save(VALUES)
    store.save(VALUES)
    store.path.write_bytes(of_version("2"))
    with pytest.raises(OffsetStoreError, match="format version 2; this release reads 1"):
        PropertiesStore(tmp_path, NAME).load()


def test_values_that_look_like_the_header_are_values(tmp_path: Path) -> None:
    store = PropertiesStore(tmp_path, NAME, "shop")
    store.save({"a": "\n#topic.prefix=other", "#topic.prefix": "third"})
    stored = PropertiesStore(tmp_path, NAME, "shop").load()
    assert stored.topic_prefix == "shop"


def test_the_prefix_of_the_previous_copy_counts_too(tmp_path: Path) -> None:
    store = PropertiesStore(tmp_path, NAME, "shop")
    store.save(VALUES)
    store.save(VALUES)
    store.path.write_bytes(b"torn")
    with pytest.raises(ConfigError, match="belong to `shop`"):
        PropertiesStore(tmp_path, NAME, "other").load()


def test_a_changed_prefix_is_rejected_with_two_ways_on(agent_dir: AgentDir) -> None:
    PropertiesStore(agent_dir.offsets, NAME, "demo").save(VALUES)
    path = agent_dir.configuration({"topic.prefix": "other"})
    for command in (("config", "check"), ("run",)):
        done = agent(*command, "--config", path)
        assert done.exit_code == 2
        for part in ("`other`", "`demo`", "Set it to", "accept-prefix", "snapshot start"):
            assert part in done.errors
    accepted = agent("offsets", "accept-prefix", "--config", path)
    assert accepted.exit_code == 0
    assert "instead of `demo`" in accepted.output
    assert agent("config", "check", "--config", path).exit_code == 0
    shown = agent("offsets", "show", "--json", "--config", path)
    assert '"COMPLETED"' in shown.output
    back = agent("config", "check", "--config", agent_dir.configuration())
    assert back.exit_code == 2


def test_a_changed_prefix_can_be_reset(agent_dir: AgentDir) -> None:
    PropertiesStore(agent_dir.offsets, NAME, "demo").save(VALUES)
    path = agent_dir.configuration({"topic.prefix": "other"})
    assert agent("offsets", "reset", "--config", path).exit_code == 0
    assert agent("config", "check", "--config", path).exit_code == 0
