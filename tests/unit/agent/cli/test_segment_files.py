"""Keystore options of the command line and the configuration, over recorded segments."""

import json
import re
from pathlib import Path

import pytest

from agent.cdc_raw.observation import observe
from agent.check.segments import check_keys
from agent.config.loader import load_config
from agent.config.node_settings import read_cassandra_yaml
from sidecar.check.check import Finding, Level
from sidecar.errors import ConfigError
from tests.oracle.reference.recordings import KEYSTORE, OWN, Scenario
from tests.oracle.reference.segment import read_bytes
from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.agent_main import agent
from tests.support.servers.cassandra_settings import (
    VERSIONS,
    NodeAddress,
    NodeEncryption,
    yaml_text,
)
from tests.support.servers.cassandra_settings import NodeSettings as WrittenSettings
from tests.support.servers.keystore import make_keystore

FOLDER = OWN / "4.1" / "encrypted"
(SEGMENT,) = FOLDER.glob("CommitLog-*.log.gz")
SCHEMA = FOLDER / "schema.cql"


def write_yaml(folder: Path, keystore: Path, version: str = "5.0.9") -> Path:
    address = NodeAddress("127.0.0.9", 9142, 7000, 7001, 7199)
    settings = WrittenSettings(encryption=NodeEncryption(keystore))
    path = folder / "cassandra.yaml"
    path.write_text(yaml_text(version, folder, address, settings))
    return path


@pytest.mark.parametrize("version", VERSIONS)
def test_keystore_is_read_from_node_configuration(agent_dir: AgentDir, version: str) -> None:
    yaml = write_yaml(agent_dir.folder, FOLDER / KEYSTORE, version)
    found = load_config([agent_dir.configuration({"cassandra.config": str(yaml)})]).keystore
    assert found is not None
    assert (found.path, found.store_password) == (FOLDER / KEYSTORE, "cassandra")
    assert (found.key_password, found.store_type) == ("cassandra", "JCEKS")
    assert found.origin == f"transparent_data_encryption_options in {yaml}"


def test_keystore_properties_override_node_configuration(agent_dir: AgentDir) -> None:
    yaml = write_yaml(agent_dir.folder, Path("conf/.keystore"))
    secret = agent_dir.folder / "secret"
    secret.write_text("word\n")
    changes = {"cassandra.config": str(yaml), "commit.log.keystore.path": "/etc/keys"}
    cases: list[tuple[dict[str, str], tuple[str, str | None, str]]] = [
        ({}, ("cassandra", "cassandra", "JCEKS")),
        ({"password": f"${{file:{secret}}}", "type": "pkcs12"}, ("word", None, "PKCS12")),
        ({"key.password": "other"}, ("word", "other", "PKCS12")),
    ]
    for more, expected in cases:
        changes |= {f"commit.log.keystore.{name}": value for name, value in more.items()}
        found = load_config([agent_dir.configuration(changes)]).keystore
        assert found is not None
        assert (found.path, found.origin) == (Path("/etc/keys"), "commit.log.keystore.path")
        assert (found.store_password, found.key_password, found.store_type) == expected


@pytest.mark.parametrize(
    "text",
    [
        "cdc_enabled: true\n",
        "transparent_data_encryption_options:\n",
        "transparent_data_encryption_options: {enabled: false}\n",
        "transparent_data_encryption_options: {key_provider: [{class_name: own}]}\n",
        "transparent_data_encryption_options: {key_provider: [{parameters: [{}]}]}\n",
    ],
)
def test_node_configuration_without_keystore_is_accepted(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cassandra.yaml"
    path.write_text(text)
    assert read_cassandra_yaml(path).keystore is None


def test_invalid_keystore_properties_are_reported(agent_dir: AgentDir) -> None:
    for changes, what in [
        ({"commit.log.keystore.path": "conf/keys"}, "must be an absolute path"),
        ({"commit.log.keystore.type": "BKS"}, "commit.log.keystore.type"),
    ]:
        with pytest.raises(ConfigError, match=re.escape(what)):
            load_config([agent_dir.configuration(changes)])


def test_dump_of_encrypted_segment_needs_key(agent_dir: AgentDir) -> None:
    arguments = ("dump", SEGMENT, "--schema", SCHEMA, "--mutations")
    done = agent(*arguments)
    assert done.exit_code == 1
    assert 'the key "testing:1" of this encrypted segment is missing' in done.errors
    assert "commit.log.keystore.path" in done.errors
    password = agent_dir.folder / "password"
    password.write_text("cassandra\n")
    by_file = ("--keystore", FOLDER / KEYSTORE, "--keystore-password-file", password)
    by_node = ("--cassandra-config", write_yaml(agent_dir.folder, FOLDER / KEYSTORE))
    for options in (by_file, by_node):
        done = agent(*arguments, *options)
        lines = [json.loads(line) for line in done.output.splitlines()]
        # The filler table exists only in the schema of the log itself.
        lines = [line for line in lines if line["ks"] != "filler"]
        assert lines == Scenario(OWN, FOLDER).expected()
    done = agent(*arguments, "--keystore", FOLDER / KEYSTORE)
    assert done.exit_code == 2
    assert "set KEYSTORE_PASSWORD or --keystore-password-file" in done.errors


def test_verify_of_encrypted_segment_needs_key(agent_dir: AgentDir) -> None:
    done = agent("verify", SEGMENT)
    assert done.exit_code == 1
    assert "is missing" in done.output
    by_node = ("--cassandra-config", write_yaml(agent_dir.folder, FOLDER / KEYSTORE))
    done = agent("verify", SEGMENT, *by_node)
    assert done.exit_code == 0, done.output
    other = make_keystore(agent_dir.folder / "other")
    done = agent("verify", SEGMENT, "--cassandra-config", write_yaml(agent_dir.folder, other))
    assert done.exit_code == 1
    assert "is wrong: it decrypts no chunk of the segment" in done.output


def test_check_reports_missing_and_wrong_keys(agent_dir: AgentDir) -> None:
    def keys(**changes: object) -> list[Finding]:
        properties = {f"commit.log.keystore.{name}": str(value) for name, value in changes.items()}
        config = load_config([agent_dir.configuration(properties)])
        return list(check_keys(config, observe(agent_dir.cdc_raw)))

    assert keys() == []
    target = agent_dir.cdc_raw / SEGMENT.name.removesuffix(".gz")
    target.write_bytes(read_bytes(SEGMENT))
    (finding,) = keys()
    assert finding.level is Level.FAULT
    assert 'the key "testing:1"' in finding.message
    assert "commit.log.keystore.path" in finding.message + finding.remedy
    (finding,) = keys(path=FOLDER / KEYSTORE, password="cassandra")
    assert finding.level is Level.OK
    assert str(FOLDER / KEYSTORE) in finding.message
    (finding,) = keys(path=make_keystore(agent_dir.folder / "other"), password="cassandra")
    assert finding.level is Level.FAULT
    assert "is wrong: it decrypts no chunk of the segment" in finding.message
