"""Settings in a node's YAML, which cannot exhaust the agent's memory."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config.node_settings import (
    MAX_BYTES,
    NodeSettings,
    bounded_yaml,
    cdc_total_limit_bytes,
    read_cassandra_yaml,
    settings_of_node,
)
from sidecar.errors import ConfigError
from tests.support.servers.cassandra_settings import VERSIONS, NodeAddress, yaml_text
from tests.support.servers.cassandra_settings import NodeSettings as WrittenSettings

MIB = 1 << 20


def read(tmp_path: Path, text: str) -> NodeSettings:
    path = tmp_path / "cassandra.yaml"
    path.write_text(text)
    return read_cassandra_yaml(path)


@pytest.mark.parametrize("version", VERSIONS)
def test_yaml_of_every_release_is_read(tmp_path: Path, version: str) -> None:
    address = NodeAddress("127.0.0.9", 9142, 7000, 7001, 7199)
    written = WrittenSettings(cluster_name="lab", commitlog_sync_period_ms=250, cdc_total_mib=77)
    found = read(tmp_path, yaml_text(version, tmp_path, address, written))
    assert found.cluster_name == "lab"
    assert found.cdc_enabled
    assert found.cdc_raw_directory == tmp_path / "cdc_raw"
    assert (found.commitlog_directory, found.cdc_total_bytes) == (tmp_path / "commitlog", 77 * MIB)
    assert found.commitlog_sync_period_ms == 250
    assert (found.rpc_address, found.native_transport_port) == ("127.0.0.9", 9142)


SIZE, PERIOD = "cdc_total_bytes", "commitlog_sync_period_ms"


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("cdc_total_space: 4096MiB", SIZE, 4096 * MIB),
        ("cdc_total_space: 4GiB", SIZE, 4096 * MIB),
        ("cdc_total_space: 2048KiB", SIZE, 2 * MIB),
        ("cdc_total_space: 1048576B", SIZE, MIB),
        ("cdc_total_space_in_mb: 4096", SIZE, 4096 * MIB),
        ("cdc_total_space: 0MiB", SIZE, 0),
        ("cdc_enabled: true", SIZE, None),
        ("commitlog_sync_period: 10000ms", PERIOD, 10_000),
        ("commitlog_sync_period: 10s", PERIOD, 10_000),
        ("commitlog_sync_period: 2m", PERIOD, 120_000),
        ("commitlog_sync_period: 500us", PERIOD, 0.5),
        ("commitlog_sync_period: 500µs", PERIOD, 0.5),
        ("commitlog_sync_period_in_ms: 100", PERIOD, 100),
        ("commitlog_sync: periodic", PERIOD, None),
        ("commitlog_sync: batch", PERIOD, 0),
        ("commitlog_sync: group\ncommitlog_sync_group_window: 50ms", PERIOD, 50),
        ("commitlog_sync: group\ncommitlog_sync_group_window_in_ms: 15", PERIOD, 15),
        ("rpc_address: 0.0.0.0\nlisten_address: 10.0.0.7", "rpc_address", "10.0.0.7"),
        ("rpc_address: 0.0.0.0", "rpc_address", None),
    ],
)
def test_setting_is_read_in_each_spelling(
    tmp_path: Path, text: str, name: str, value: object
) -> None:
    assert getattr(read(tmp_path, text), name) == value


@pytest.mark.parametrize(
    "text",
    [
        *("cdc_total_space: 4 gigs", "cdc_total_space_in_mb: many", "commitlog_sync_period: soon"),
        *("cdc_enabled: sure", "native_transport_port: 0", "cdc_raw_directory: data/cdc_raw"),
    ],
)
def test_invalid_setting_is_reported_with_file_and_key(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(tmp_path, text)
    assert str(tmp_path / "cassandra.yaml") in str(raised.value)
    assert text.split(":")[0] in str(raised.value)


@pytest.mark.parametrize("text", ["a: [", "- list", "just words", ""])
def test_missing_or_invalid_yaml_file_is_rejected(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        read_cassandra_yaml(tmp_path / "cassandra.yaml")
    with pytest.raises(ConfigError, match=r"cassandra\.yaml"):
        read(tmp_path, text)


def test_accord_journal_directory_is_read_from_yaml(tmp_path: Path) -> None:
    text = "accord:\n  enabled: true\n  journal_directory: /journal\n"
    assert read(tmp_path, text).accord_journal_directory == Path("/journal")
    for other in ("accord:\n  enabled: true\n", "accord: true\n", "cluster_name: lab\n"):
        assert read(tmp_path, other).accord_journal_directory is None
    with pytest.raises(ConfigError, match=r"accord\.journal_directory: relative"):
        read(tmp_path, "accord:\n  journal_directory: relative\n")


def test_settings_of_running_node_are_parsed_from_text() -> None:
    found = settings_of_node(
        "system_views.settings",
        {
            "cdc_enabled": "true",
            "cdc_total_space": "512MiB",
            "commitlog_sync_period": "1s",
            "cdc_raw_directory": "/data/cdc_raw",
            "cdc_on_repair_enabled": "false",
            "seed_provider": "{not: [yaml",
            "rpc_address": None,
        },
    )
    assert found.cdc_enabled
    assert not found.cdc_on_repair_enabled
    assert (found.cdc_total_bytes, found.commitlog_sync_period_ms) == (512 * MIB, 1000)


@given(st.integers(1, 1 << 50), st.integers(0, 1 << 50))
def test_cdc_limit_is_setting_or_eighth_of_volume(configured: int, volume_bytes: int) -> None:
    assert cdc_total_limit_bytes(configured, volume_bytes) == configured
    for silent in (None, 0):
        assert cdc_total_limit_bytes(silent, volume_bytes) == min(4096 * MIB, volume_bytes // 8)


ALIASES = "a0: &a0 [x, x]\n" + "".join(
    f"a{number}: &a{number} [*a{number - 1}, *a{number - 1}]\n" for number in range(1, 30)
)
BOMBS = {
    "aliases": (f"{ALIASES}cluster_name: *a29\n", "aliases"),
    "an alias of itself": ("cluster_name: &a [*a]\n", "aliases"),
    "deep lists": ("cluster_name: " + "[" * 20_000, "nested too deeply"),
    "deep maps": ("cluster_name: " + "{a: " * 20_000, "nested too deeply"),
    "deep blocks": ("- " * 20_000, "nested too deeply"),
    "a long number": (f"native_transport_port: {'9' * 5000}\n", "invalid date or number"),
    "a day that no month has": ("cluster_name: 2001-99-99\n", "invalid date or number"),
    "an object of Python": ("cluster_name: !!python/object:os.system {}\n", "not valid YAML"),
    "many values": ("cluster_name: [" + "x," * 20_000 + "]\n", "more than 20000 values"),
    "too long": ("#" * MAX_BYTES + "\n" + "a: 1\n", "more than"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_yaml_bomb_is_rejected(name: str, tmp_path: Path) -> None:
    text, reason = BOMBS[name]
    file = tmp_path / "cassandra.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_cassandra_yaml(file)
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("name", [each for each in BOMBS if each != "deep blocks"])
def test_yaml_bomb_in_setting_of_node_is_rejected(name: str) -> None:
    text, reason = BOMBS[name]
    with pytest.raises(ConfigError, match=reason):
        settings_of_node("system_views.settings", {"cluster_name": text})


def test_error_message_truncates_long_values() -> None:
    with pytest.raises(ConfigError) as caught:
        settings_of_node("the node", {"cdc_enabled": f"'{'x' * 100_000}'"})
    assert len(str(caught.value)) < 1000
    for huge in (f"{'9' * 5000}MiB", f"{'9' * 100}MiB"):
        with pytest.raises(ConfigError, match="is invalid"):
            settings_of_node("the node", {"cdc_total_space": f"'{huge}'"})


def test_plain_yaml_is_read() -> None:
    assert bounded_yaml("a: [1, 'x', 2.5]\nb: {c: true}\n") == {
        "a": [1, "x", 2.5],
        "b": {"c": True},
    }
