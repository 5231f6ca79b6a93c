"""What is recorded, and on which nodes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tests.support.record import (
    auto_repair,
    cluster,
    counters,
    epochs,
    kill,
    live,
    peer,
    quickstart,
    workload,
)
from tests.support.servers.cache import REPOSITORY
from tests.support.servers.cassandra_settings import NodeEncryption, NodeSettings
from tests.support.servers.keystore import make_keystore

FIXTURES = REPOSITORY / "tests" / "fixtures"
QUICKSTART = REPOSITORY / "examples" / "quickstart"

Done = Callable[[str, str], None]
"""Is told the name of a finished recording and one sentence about it."""


@dataclass(frozen=True, slots=True)
class Run:
    """Recordings that are made on one node or cluster. `record` takes those of `names` that are
    wanted and an empty folder for the servers' files."""

    names: tuple[str, ...]
    record: Callable[[Sequence[str], Path, Done], None]


def _workloads(
    release: str, version: str, settings: NodeSettings, workloads: dict[str, str]
) -> Run:
    def record(wanted: Sequence[str], scratch: Path, done: Done) -> None:
        folders = {
            FIXTURES / release / name: each
            for name, each in workloads.items()
            if f"{release}/{name}" in wanted
        }
        workload.record(
            version,
            settings,
            folders,
            scratch,
            lambda folder, updates: done(f"{release}/{folder.name}", f"{updates} updates"),
        )

    return Run(tuple(f"{release}/{name}" for name in workloads), record)


def _encrypted(
    release: str,
    version: str,
    settings: NodeSettings,
    workloads: dict[str, str],
    *,
    cipher: str = "AES/CBC/PKCS5Padding",
    chunk_kib: int = 64,
) -> Run:
    names = tuple(f"{release}/{name}" for name in workloads)

    def record(wanted: Sequence[str], scratch: Path, done: Done) -> None:
        keystore = make_keystore(scratch / "keystore")
        encryption = NodeEncryption(keystore, cipher, chunk_kib)
        encrypted = replace(settings, encryption=encryption)
        _workloads(release, version, encrypted, workloads).record(wanted, scratch, done)

    return Run(names, record)


def _single(name: str, record: Callable[[Path, Path], str]) -> Run:
    def run(wanted: Sequence[str], scratch: Path, done: Done) -> None:
        done(name, record(FIXTURES / name, scratch))

    return Run((name,), run)


def _quickstart(wanted: Sequence[str], scratch: Path, done: Done) -> None:
    done("quickstart", f"{quickstart.record(QUICKSTART, scratch)} segments")


def _peer(wanted: Sequence[str], scratch: Path, done: Done) -> None:
    done("peer", peer.record(scratch))


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


_LZ4 = "LZ4Compressor"
_PLAIN = NodeSettings()
_NONE = NodeSettings(storage_compatibility_mode="NONE")
_PACKED = NodeSettings(commitlog_compression=_LZ4)
_SNAPPY = NodeSettings(commitlog_compression="SnappyCompressor")
_DEFLATE = NodeSettings(commitlog_compression="DeflateCompressor")
_ZSTD = NodeSettings(commitlog_compression="ZstdCompressor")
_NOOP = NodeSettings(commitlog_compression="NoopCompressor")
_DIRECT = replace(_NONE, yaml={"commitlog_disk_access_mode": "direct"})
_SIX = "6.0-alpha2"
_PACKED_NONE = NodeSettings(commitlog_compression=_LZ4, storage_compatibility_mode="NONE")

RUNS = (
    Run(("quickstart",), _quickstart),
    _workloads(
        "5.0",
        "5.0.9",
        _PLAIN,
        _same(
            *("types", "collections", "deletions", "ttl", "timestamps", "wide", "batches"),
            *("transactions", "counters", "views", "large", "random"),
        ),
    ),
    _workloads("5.0", "5.0.9", _PACKED, {"lz4": "large", "lz4-deletions": "deletions"}),
    _workloads("5.0", "5.0.9", _SNAPPY, {"snappy": "deletions"}),
    _workloads("5.0", "5.0.9", _DEFLATE, {"deflate": "collections"}),
    _workloads("5.0", "5.0.9", _ZSTD, {"zstd": "large"}),
    _workloads("5.0", "5.0.9", _NOOP, {"noop": "batches"}),
    _encrypted("5.0", "5.0.9", _PLAIN, {"encrypted": "large"}),
    _workloads(
        "5.0-none",
        "5.0.9",
        _NONE,
        {**_same("types", "deletions", "timestamps", "random"), "ttl": "ttl_longest"},
    ),
    _workloads("5.0-none", "5.0.9", _PACKED_NONE, {"lz4": "large"}),
    _encrypted(
        *("5.0-none", "5.0.9", _NONE, {"encrypted-ctr": "deletions"}),
        cipher="AES/CTR/NoPadding",
        chunk_kib=4,
    ),
    _workloads("6.0", _SIX, _PLAIN, _same("constraints", "batches")),
    _workloads(
        "6.0-none",
        _SIX,
        _NONE,
        {**_same("constraints", "types", "deletions", "counters", "views"), "ttl": "ttl_longest"},
    ),
    _workloads("6.0-none", _SIX, _PACKED_NONE, {"lz4": "deletions"}),
    _workloads(
        "6.0-none", _SIX, replace(_ZSTD, storage_compatibility_mode="NONE"), {"zstd": "collections"}
    ),
    _workloads("6.0-none", _SIX, _DIRECT, {"direct": "collections"}),
    _encrypted("6.0-none", _SIX, _NONE, {"encrypted": "batches"}, chunk_kib=4),
    _workloads("4.1", "4.1.10", _PLAIN, _same("types", "collections", "deletions", "batches")),
    _workloads("4.1", "4.1.10", _PACKED, {"lz4": "large"}),
    _encrypted("4.1", "4.1.10", _PLAIN, {"encrypted": "batches"}, chunk_kib=4),
    _workloads("4.0", "4.0.19", _PLAIN, _same("types", "collections", "deletions", "random")),
    _workloads("3.11", "3.11.19", _PLAIN, _same("mixed")),
    _single("5.0/kill9", partial(kill.record, compression=None)),
    _single("5.0/kill9-lz4", partial(kill.record, compression=_LZ4)),
    _single("5.0/live", partial(live.record, compression=None)),
    _single("5.0/live-lz4", partial(live.record, compression=_LZ4)),
    _single("5.0/three-nodes", cluster.record),
    _single(
        "6.0-none/three-nodes", partial(cluster.record, version=_SIX, settings=_NONE, statements=40)
    ),
    _single("5.0/counter-shards", counters.record),
    _single("5.0-none/auto-repair", auto_repair.record),
    _single("6.0/epochs", epochs.record),
    Run(("peer",), _peer),
)
