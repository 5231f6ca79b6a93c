"""State files: version of the format, and the prefix of their topics."""

import hashlib
from pathlib import Path

import pytest

from sidecar.errors import ConfigError, OffsetStoreError
from sidecar.offsets.properties_store import FORMAT_VERSION, PropertiesStore, encode
from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.agent_main import agent

NAME = "segment_offset.properties"
VALUES = {"node.id": "node-1", "CommitLog-7-1.log": "COMPLETED"}


def of_version(version: str) -> bytes:
    """The file as a release of that format would write it."""
    body = encode(VALUES).split(b"\n", 1)[1]
    body = body.replace(
        f"#format.version={FORMAT_VERSION}".encode(), f"#format.version={version}".encode()
    )
    return b"#sha256=" + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def test_a_file_without_a_version_is_rejected(tmp_path: Path) -> None:
    body = encode(VALUES).split(b"\n", 1)[1].replace(b"#format.version=1\n", b"")
    checksum = hashlib.sha256(body).hexdigest().encode()
    (tmp_path / NAME).write_bytes(b"#sha256=" + checksum + b"\n" + body)
    with pytest.raises(OffsetStoreError, match=r"format version none.*move the file away"):
        PropertiesStore(tmp_path, NAME).load()


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
