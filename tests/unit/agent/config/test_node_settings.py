"""`cassandra.yaml` in the spellings of each release."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config.node_settings import (
    NodeSettings,
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
def test_every_release_is_understood(tmp_path: Path, version: str) -> None:
    address = NodeAddress("127.0.0.9", 9142, 7000, 7001, 7199)
    written = WrittenSettings(cluster_name="lab", commitlog_sync_period_ms=250, cdc_total_mib=77)
    found = read(tmp_path, yaml_text(version, tmp_path, address, written))
    assert found.cluster_name == "lab"
    assert found.cdc_enabled
    assert found.cdc_raw_directory == tmp_path / "cdc_raw"
    assert found.commitlog_directory == tmp_path / "commitlog"
    assert found.cdc_total_bytes == 77 * MIB
    assert found.commitlog_sync_period_ms == 250
    assert (found.rpc_address, found.native_transport_port) == ("127.0.0.9", 9142)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("cdc_total_space: 4096MiB", 4096 * MIB),
        ("cdc_total_space: 4GiB", 4096 * MIB),
        ("cdc_total_space: 2048KiB", 2 * MIB),
        ("cdc_total_space: 1048576B", MIB),
        ("cdc_total_space_in_mb: 4096", 4096 * MIB),
        ("cdc_total_space: 0MiB", 0),
        ("cdc_enabled: true", None),
    ],
)
def test_sizes(tmp_path: Path, text: str, size_bytes: int | None) -> None:
    assert read(tmp_path, text).cdc_total_bytes == size_bytes


@pytest.mark.parametrize(
    ("text", "period_ms"),
    [
        ("commitlog_sync_period: 10000ms", 10_000),
        ("commitlog_sync_period: 10s", 10_000),
        ("commitlog_sync_period: 2m", 120_000),
        ("commitlog_sync_period: 500us", 0.5),
        ("commitlog_sync_period: 500µs", 0.5),
        ("commitlog_sync_period_in_ms: 100", 100),
        ("commitlog_sync: periodic", None),
        ("commitlog_sync: batch", 0),
        ("commitlog_sync: group\ncommitlog_sync_group_window: 50ms", 50),
        ("commitlog_sync: group\ncommitlog_sync_group_window_in_ms: 15", 15),
    ],
)
def test_periods(tmp_path: Path, text: str, period_ms: float | None) -> None:
    assert read(tmp_path, text).commitlog_sync_period_ms == period_ms


@pytest.mark.parametrize(
    "text",
    [
        "cdc_total_space: 4 gigs",
        "cdc_total_space_in_mb: many",
        "commitlog_sync_period: soon",
        "cdc_enabled: sure",
        "native_transport_port: 0",
        "cdc_raw_directory: data/cdc_raw",
    ],
)
def test_setting_that_cassandra_rejects_names_file_and_key(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(tmp_path, text)
    assert str(tmp_path / "cassandra.yaml") in str(raised.value)
    assert text.split(":")[0] in str(raised.value)


@pytest.mark.parametrize("text", ["a: [", "- list", "just words", ""])
def test_a_file_that_is_no_settings_is_rejected(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"cassandra\.yaml"):
        read(tmp_path, text)


def test_a_file_that_is_not_there_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        read_cassandra_yaml(tmp_path / "none.yaml")


def test_the_accord_journal_is_found(tmp_path: Path) -> None:
    text = "accord:\n  enabled: true\n  journal_directory: /journal\n"
    assert read(tmp_path, text).accord_journal_directory == Path("/journal")
    for other in ("accord:\n  enabled: true\n", "accord: true\n", "cluster_name: lab\n"):
        assert read(tmp_path, other).accord_journal_directory is None
    with pytest.raises(ConfigError, match=r"accord\.journal_directory: relative"):
        read(tmp_path, "accord:\n  journal_directory: relative\n")


def test_a_wildcard_is_no_address(tmp_path: Path) -> None:
    text = "rpc_address: 0.0.0.0\nlisten_address: 10.0.0.7"
    assert read(tmp_path, text).rpc_address == "10.0.0.7"
    assert read(tmp_path, "rpc_address: 0.0.0.0").rpc_address is None


def test_a_running_node_says_the_same_in_texts() -> None:
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
    assert found.cdc_total_bytes == 512 * MIB
    assert found.commitlog_sync_period_ms == 1000


@given(st.integers(1, 1 << 50), st.integers(0, 1 << 50))
def test_the_limit_is_the_setting_or_an_eighth_of_the_volume(
    configured: int, volume_bytes: int
) -> None:
    assert cdc_total_limit_bytes(configured, volume_bytes) == configured
    for silent in (None, 0):
        limit = cdc_total_limit_bytes(silent, volume_bytes)
        assert limit == min(4096 * MIB, volume_bytes // 8)
