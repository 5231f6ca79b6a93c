"""Loads the agent's configuration from properties files and the node's `cassandra.yaml`."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from agent.config.cross_validation import (
    cross_validation_problems,
    cross_validation_warnings,
    directory_conflicts,
)
from agent.config.debezium import DebeziumProperties, cutover_warnings
from agent.config.driver_file import PROPERTY, driver_settings
from agent.config.keystore import keystore_settings
from agent.config.model import AgentProperties
from agent.config.node_settings import NodeSettings, read_cassandra_yaml
from agent.keystore.source import KeystoreSettings
from sidecar.config import kafka_connect
from sidecar.errors import ConfigError
from sidecar.files import directories
from sidecar.offsets.properties_store import PropertiesStore
from sidecar.properties.loading import LoadedProperties, load
from sidecar.properties.references import resolve
from sidecar.properties.source import Setting, command_line_settings, read_properties
from sidecar.store.registry import STORES, StoreKind

OFFSET_FILE = "segment_offset.properties"
"""File with the offsets of segments, in `offset.backing.store.dir`."""
SNAPSHOT_FILE = "snapshot_progress.properties"
"""File with the offsets of snapshots, in `offset.backing.store.dir`."""

_DEFAULT_HOST = "localhost"
_DEFAULT_PORT = 9042


@dataclass(frozen=True)
class AgentConfig:
    """Properties, combined with the node's `cassandra.yaml`."""

    loaded: LoadedProperties[AgentProperties]
    node_settings: NodeSettings | None
    cdc_raw_directory: Path
    hosts: tuple[str, ...]
    port: int
    warnings: tuple[str, ...]

    @property
    def properties(self) -> AgentProperties:
        return self.loaded.properties

    def reread(self) -> "AgentConfig":
        """Returns a copy with each `${file:…}` read again."""
        return replace(self, loaded=replace(self.loaded, properties=self.properties.reread()))

    @property
    def cluster_name(self) -> str | None:
        """The configured name, or None if only the node knows it."""
        if self.properties.cluster_name is not None:
            return self.properties.cluster_name
        return self.node_settings.cluster_name if self.node_settings is not None else None

    @property
    def accord_journal_directory(self) -> Path:
        """From the properties, else from `cassandra.config`, else next to `cdc_raw`."""
        node = self.node_settings
        return (
            self.properties.accord_journal_directory
            or (node.accord_journal_directory if node is not None else None)
            or self.cdc_raw_directory.parent / "accord_journal"
        )

    @property
    def commit_log_directory(self) -> Path:
        """From `cassandra.config`, else next to `cdc_raw`, as in Cassandra's packages."""
        node = self.node_settings
        return (
            node.commitlog_directory if node is not None else None
        ) or self.cdc_raw_directory.parent / "commitlog"

    @property
    def state_stores(self) -> tuple[PropertiesStore, PropertiesStore]:
        """The stores of segment offsets and of snapshot offsets."""
        directory, prefix = self.properties.offset_directory, self.properties.topic_prefix
        return (
            PropertiesStore(directory, OFFSET_FILE, prefix),
            PropertiesStore(directory, SNAPSHOT_FILE, prefix),
        )

    @property
    def keystore(self) -> KeystoreSettings | None:
        node = self.node_settings.keystore if self.node_settings is not None else None
        return keystore_settings(self.properties, node)

    @property
    def transfer_name(self) -> str:
        """The transfer of finished segments; `archive` without post-processing."""
        return self.properties.transfer if self.properties.post_processing_enabled else "archive"

    @property
    def has_own_transfer(self) -> bool:
        return ":" in self.transfer_name

    @property
    def store_kind(self) -> StoreKind | None:
        """The kind of store that receives finished segments, or None."""
        return STORES.get(self.transfer_name)


def load_config(
    files: Iterable[Path],
    overrides: Iterable[str] = (),
    *,
    environment: Mapping[str, str] | None = None,
) -> AgentConfig:
    """Reads the files in order, then `name=value` overrides, then the node's `cassandra.yaml`.
    Raises `ConfigError` with one message for each mistake. Does not check directories; see
    `directory_problems`."""
    paths, over = list(files), command_line_settings(overrides)
    loaded = load(
        AgentProperties,
        paths,
        beneath=_driver_settings(paths, over, environment),
        overrides=over,
        environment=environment,
        cross=cross_validation_problems,
    )
    properties = loaded.properties
    node_settings = None
    if properties.cassandra_config is not None:
        node_settings = read_cassandra_yaml(properties.cassandra_config)
    return AgentConfig(
        loaded=loaded,
        node_settings=node_settings,
        cdc_raw_directory=_cdc_raw_directory(properties, node_settings),
        hosts=_hosts(properties, node_settings),
        port=properties.cassandra_port
        or (node_settings.native_transport_port if node_settings is not None else _DEFAULT_PORT),
        warnings=(
            *loaded.warnings,
            *kafka_connect.unused(
                properties,
                DebeziumProperties,
                used=("transfer_settings",) if ":" in properties.transfer else (),
            ),
            *properties.converter_warnings(),
            *cross_validation_warnings(properties),
            *cutover_warnings(
                properties, [each.name for path in paths for each in read_properties(path)]
            ),
        ),
    )


def _driver_settings(
    files: Iterable[Path], overrides: Iterable[Setting], environment: Mapping[str, str] | None
) -> list[Setting]:
    """Reads `cassandra.driver.config.file`. `load` reports an invalid file name later."""
    settings = [*(setting for path in files for setting in read_properties(path)), *overrides]
    written = [setting.value for setting in settings if setting.name == PROPERTY]
    if not written or not written[-1]:
        return []
    try:
        path = resolve(written[-1], os.environ if environment is None else environment)
    except ValueError:
        return []
    return driver_settings(Path(path), environment)


def directory_problems(config: AgentConfig) -> list[str]:
    """Returns a message for each directory that is missing, unusable or overlaps another."""
    return [
        *directories.directory_problems(_directories(config)),
        *directory_conflicts(config.cdc_raw_directory, config.properties, config.node_settings),
    ]


def directory_warnings(config: AgentConfig) -> list[str]:
    """Returns a message for each directory in which any user can replace files."""
    return directories.exposed_directories(_directories(config))


def _directories(config: AgentConfig) -> list[tuple[str, Path]]:
    properties = config.properties
    wanted = [
        ("cdc.raw.directory", config.cdc_raw_directory),
        ("commit.log.relocation.dir", properties.relocation_directory),
        ("offset.backing.store.dir", properties.offset_directory),
    ]
    if properties.sink == "file" and properties.file_path is not None:
        wanted.append(("file.path", properties.file_path.absolute().parent))
    return wanted


def _cdc_raw_directory(properties: AgentProperties, node_settings: NodeSettings | None) -> Path:
    if properties.cdc_raw_directory is not None:
        return properties.cdc_raw_directory
    if node_settings is not None and node_settings.cdc_raw_directory is not None:
        return node_settings.cdc_raw_directory
    raise ConfigError(
        f"{properties.cassandra_config}: `cdc_raw_directory` is not set, and its default depends "
        "on how the node is started. Set `cdc.raw.directory`."
    )


def _hosts(properties: AgentProperties, node_settings: NodeSettings | None) -> tuple[str, ...]:
    if properties.cassandra_hosts:
        return properties.cassandra_hosts
    if node_settings is not None and node_settings.rpc_address is not None:
        return (node_settings.rpc_address,)
    return (_DEFAULT_HOST,)
