"""Settings of a Cassandra node and the `cassandra.yaml` they make, for each supported release."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

VERSIONS = ("5.0.9", "6.0-alpha2", "4.1.10", "4.0.19", "3.11.19")
"""The release that most tests run on comes first."""


_REQUEST_TIMEOUTS = (
    *("request_timeout", "read_request_timeout", "range_request_timeout"),
    *("write_request_timeout", "counter_write_request_timeout", "cas_contention_timeout"),
)
"""From 6.0 on each DDL is a Paxos round and a flush, which a busy machine makes slow."""


@dataclass(frozen=True)
class NodeEncryption:
    """How a node encrypts its commit log: with the key `testing:1` of a JCEKS keystore whose
    passwords are `cassandra`."""

    keystore: Path
    cipher: str = "AES/CBC/PKCS5Padding"
    chunk_kib: int = 64


@dataclass(frozen=True)
class NodeSettings:
    """What differs between nodes in tests; the rest has one value that suits a small machine.

    `commitlog_compression` is a class name such as `LZ4Compressor`. `yaml` adds or replaces single
    keys of `cassandra.yaml`. `compile_fully=False` keeps the JVM to its quick compiler, which
    starts faster and costs less CPU; speed measurements want True.
    """

    cluster_name: str = "lab"
    commitlog_sync: str = "periodic"
    commitlog_sync_period_ms: int = 1000
    commitlog_segment_mib: int = 1
    commitlog_total_mib: int = 256
    commitlog_compression: str | None = None
    encryption: NodeEncryption | None = None
    storage_compatibility_mode: str = "CASSANDRA_4"
    cdc_enabled: bool = True
    cdc_total_mib: int = 512
    cdc_block_writes: bool = True
    initial_token: int = 0
    seeds: Sequence[str] = ()
    heap_mib: int = 512
    compile_fully: bool = False
    yaml: Mapping[str, object] = field(default_factory=dict)
    jvm_options: Sequence[str] = ()


@dataclass(frozen=True)
class NodeAddress:
    """Where one node listens. The storage port must be equal on all nodes of a cluster."""

    host: str
    cql_port: int
    storage_port: int
    ssl_storage_port: int
    jmx_port: int


def release(version: str) -> tuple[int, int]:
    """Returns `(5, 0)` for `5.0.9` and `(6, 0)` for `6.0-alpha2`."""
    major, minor, *_ = version.partition("-")[0].split(".")
    return int(major), int(minor)


def yaml_text(version: str, directory: Path, address: NodeAddress, settings: NodeSettings) -> str:
    """The whole `cassandra.yaml`: one key per line, each value in JSON, which is YAML as well."""
    keys: dict[str, object] = {
        "cluster_name": settings.cluster_name,
        "num_tokens": 1,
        "initial_token": str(settings.initial_token),
        "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
        "data_file_directories": [str(directory / "data")],
        "commitlog_directory": str(directory / "commitlog"),
        "cdc_raw_directory": str(directory / "cdc_raw"),
        "saved_caches_directory": str(directory / "saved_caches"),
        "hints_directory": str(directory / "hints"),
        "cdc_enabled": settings.cdc_enabled,
        "commitlog_sync": settings.commitlog_sync,
        "listen_address": address.host,
        "rpc_address": address.host,
        "native_transport_port": address.cql_port,
        "storage_port": address.storage_port,
        "ssl_storage_port": address.ssl_storage_port,
        "endpoint_snitch": "SimpleSnitch",
        "auto_bootstrap": False,
        "seed_provider": [
            {
                "class_name": "org.apache.cassandra.locator.SimpleSeedProvider",
                "parameters": [{"seeds": ",".join(settings.seeds or [address.host])}],
            }
        ],
        "authenticator": "AllowAllAuthenticator",
        "authorizer": "AllowAllAuthorizer",
        "memtable_allocation_type": "heap_buffers",
        "auto_snapshot": False,
        "commit_failure_policy": "stop",
        "disk_failure_policy": "stop",
    }
    if settings.commitlog_compression:
        keys["commitlog_compression"] = [{"class_name": settings.commitlog_compression}]
    if settings.encryption:
        keys["transparent_data_encryption_options"] = encryption_options(settings.encryption)
    keys |= _keys_of_release(version, settings)
    keys |= settings.yaml
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in keys.items())


def encryption_options(encryption: NodeEncryption) -> dict[str, object]:
    """`transparent_data_encryption_options` of `cassandra.yaml`."""
    parameters = {
        "keystore": str(encryption.keystore),
        "keystore_password": "cassandra",
        "store_type": "JCEKS",
        "key_password": "cassandra",
    }
    provider = {
        "class_name": "org.apache.cassandra.security.JKSKeyProvider",
        "parameters": [parameters],
    }
    return {
        "enabled": True,
        "chunk_length_kb": encryption.chunk_kib,
        "cipher": encryption.cipher,
        "key_alias": "testing:1",
        "key_provider": [provider],
    }


def _keys_of_release(version: str, settings: NodeSettings) -> dict[str, object]:
    keys: dict[str, object]
    if release(version) >= (4, 1):
        keys = {
            "commitlog_segment_size": f"{settings.commitlog_segment_mib}MiB",
            "commitlog_total_space": f"{settings.commitlog_total_mib}MiB",
            "cdc_total_space": f"{settings.cdc_total_mib}MiB",
            "cdc_free_space_check_interval": "250ms",
            "cdc_block_writes": settings.cdc_block_writes,
            "materialized_views_enabled": True,
        }
        if settings.commitlog_sync == "periodic":
            keys["commitlog_sync_period"] = f"{settings.commitlog_sync_period_ms}ms"
    else:
        keys = {
            "commitlog_segment_size_in_mb": settings.commitlog_segment_mib,
            "commitlog_total_space_in_mb": settings.commitlog_total_mib,
            "cdc_total_space_in_mb": settings.cdc_total_mib,
            "cdc_free_space_check_interval_ms": 250,
            "enable_materialized_views": True,
        }
        if settings.commitlog_sync == "periodic":
            keys["commitlog_sync_period_in_ms"] = settings.commitlog_sync_period_ms
    if release(version) >= (5, 0):
        keys["storage_compatibility_mode"] = settings.storage_compatibility_mode
    if release(version) >= (6, 0):
        keys |= dict.fromkeys(_REQUEST_TIMEOUTS, "20s")
    if release(version) < (4, 0):
        keys |= {"start_native_transport": True, "start_rpc": False}
    return keys
