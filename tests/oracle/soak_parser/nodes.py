"""Nodes of the workloads: a release, its storage mode, and the framing of its commit log."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.servers.cassandra_settings import NodeEncryption, NodeSettings, release
from tests.support.servers.keystore import make_keystore
from tests.support.workloads.scenario import Release

COMPRESSORS = {
    "plain": None,
    "lz4": "LZ4Compressor",
    "snappy": "SnappyCompressor",
    "deflate": "DeflateCompressor",
    "zstd": "ZstdCompressor",
    "noop": "NoopCompressor",
}
"""Zstd and Noop exist since 4.0."""
CIPHERS = {
    "cbc": "AES/CBC/PKCS5Padding",
    "cfb": "AES/CFB/PKCS5Padding",
    "ofb": "AES/OFB/PKCS5Padding",
    "ctr": "AES/CTR/NoPadding",
}
DIRECT = "direct"
"""Plain, written with direct I/O (6.0)."""
FRAMINGS = (*COMPRESSORS, *CIPHERS, DIRECT)
_MODES = ("none", "upgrading", "cassandra_5")
_LABEL = re.compile(
    rf"(\d+\.\d+(?:\.\d+|-alpha\d+))(?:-({'|'.join(_MODES)}))?(?::({'|'.join(FRAMINGS)}))?"
)
NODE_FORM = f"VERSION[-{'|-'.join(_MODES)}][:{'|'.join(FRAMINGS)}]"
_CHUNK_KIB = 4
"""Size of encrypted chunks; so small that most sections have several."""


@dataclass(frozen=True, slots=True)
class NodeKind:
    """`5.0.9-none:lz4`: a release, after a dash its storage mode in small letters (from 5.0 on),
    and after a colon the framing, which is one of `FRAMINGS`."""

    label: str
    version: str = field(init=False)
    mode: str = field(init=False)
    framing: str = field(init=False)

    def __post_init__(self) -> None:
        found = _LABEL.fullmatch(self.label)
        if found is None:
            raise ValueError(f"{self.label} is no node: {NODE_FORM}")
        version, mode, framing = found.groups()
        object.__setattr__(self, "version", version)
        object.__setattr__(self, "mode", (mode or "CASSANDRA_4").upper())
        object.__setattr__(self, "framing", framing or "plain")

    @property
    def release(self) -> Release:
        return release(self.version)

    @property
    def is_far(self) -> bool:
        """Whether expiries may lie after January 2038."""
        return self.release >= (5, 0) and self.mode == "NONE"

    def settings(self, folder: Path) -> NodeSettings:
        """Schema changes are not flushed, which makes them several times faster. Segments have many
        sections, and on 5.0 space for mutations of megabytes. `folder` gets the keystore of an
        encrypted node."""
        cipher = CIPHERS.get(self.framing)
        encryption = None
        if cipher is not None:
            keystore = make_keystore(folder / "keystore")
            encryption = NodeEncryption(keystore, cipher, _CHUNK_KIB)
        yaml: dict[str, object] = {"memtable_allocation_type": "unslabbed_heap_buffers"}
        if self.framing == DIRECT:
            yaml["commitlog_disk_access_mode"] = "direct"
        return NodeSettings(
            commitlog_segment_mib=8 if self.release >= (5, 0) else 1,
            commitlog_compression=COMPRESSORS.get(self.framing),
            encryption=encryption,
            storage_compatibility_mode=self.mode,
            commitlog_sync_period_ms=200,
            heap_mib=640,
            jvm_options=("-Dcassandra.test.flush_local_schema_changes=false",),
            yaml=yaml,
        )


DEFAULT_NODES = tuple(
    NodeKind(f"{node}:{framing}")
    for node in (
        *("6.0-alpha2", "6.0-alpha2-none", "5.0.9", "5.0.9-none"),
        *("4.1.10", "4.0.19", "3.11.19"),
    )
    for framing in ("plain", "lz4")
)
