"""What is recorded, and on which nodes."""

import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tests.oracle.debezium.document import PATH, document
from tests.oracle.debezium.next_release import Results
from tests.oracle.debezium.recording import FOLDER
from tests.oracle.debezium.run import run as run_peer
from tests.support.record import cluster, counters, kill, live, schema_changes
from tests.support.record.folder import (
    KEYSTORE,
    new_folder,
    user_schema,
    write_dump,
    write_segments,
    write_texts,
)
from tests.support.servers.cache import REPOSITORY
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeEncryption, NodeSettings
from tests.support.servers.cassandra_settings import release as release_of
from tests.support.servers.keystore import make_keystore
from tests.support.workloads import scenario, shop

FIXTURES = REPOSITORY / "tests" / "fixtures"
QUICKSTART = REPOSITORY / "examples" / "quickstart"
_WRITES_A_PAGE_VIEW = 32

Done = Callable[[str, str], None]
"""Is told the name of a finished recording and one sentence about it."""


@dataclass(frozen=True, slots=True)
class Run:
    """Recordings that are made on one node or cluster. `record` takes those of `names` that are
    wanted and an empty folder for the servers' files."""

    names: tuple[str, ...]
    record: Callable[[Sequence[str], Path, Done], None]


def _workloads(
    release: str,
    version: str,
    settings: NodeSettings,
    workloads: str,
    *,
    cipher: str = "",
    chunk_kib: int = 64,
) -> Run:
    """Workloads one after the other on one node, each in segments of its own. `workloads` are
    names, or `folder=name` where the folder has another name.

    Before 4.0 a segment comes to `cdc_raw` when its tables are flushed, so there the node is
    stopped at the end, and one workload is all that it records.
    """
    folders = {
        f"{release}/{folder}": name or folder
        for folder, _, name in (word.partition("=") for word in workloads.split())
    }

    def record(wanted: Sequence[str], scratch: Path, done: Done) -> None:
        encryption = None
        if cipher:
            encryption = NodeEncryption(make_keystore(scratch / "keystore"), cipher, chunk_kib)
        node_settings = replace(settings, encryption=encryption)
        with CassandraNode(scratch / "node", version=version, settings=node_settings) as node:
            for folder in wanted:
                updates = _record_one(node, FIXTURES / folder, folders[folder])
                done(folder, f"{updates} updates")
                if node.is_running:
                    # The consumer's duty: what is read is deleted.
                    for segment in node.cdc_segments():
                        if segment.is_completed:
                            segment.path.unlink()
                            segment.path.with_name(f"{segment.path.stem}_cdc.idx").unlink()

    return Run(tuple(folders), record)


def _record_one(node: CassandraNode, folder: Path, name: str) -> int:
    # The statements of a recording are in its folder.
    workload = scenario(name, release_of(node.version))
    new_folder(folder)
    statements = [*workload.schema, *workload.statements]
    for statement in statements:
        node.execute(statement)
    schema = user_schema(node)
    if release_of(node.version) >= (4, 0):
        node.close_segment()
        segments = [each.path for each in node.cdc_segments() if each.is_completed]
        # Room for the next one.
        for keyspace in re.findall(r"^CREATE KEYSPACE (\S+)", "\n".join(statements), re.MULTILINE):
            node.execute(f"DROP KEYSPACE {keyspace}")
    else:
        node.stop()
        segments = [each.path for each in node.cdc_segments()]
    if node.settings.encryption is not None:
        shutil.copyfile(node.settings.encryption.keystore, folder / KEYSTORE)
    write_segments(folder, segments)
    write_texts(folder, schema, statements)
    return write_dump(folder, node.version)


def _single(name: str, record: Callable[[Path, Path], str]) -> Run:
    def run(wanted: Sequence[str], scratch: Path, done: Done) -> None:
        done(name, record(FIXTURES / name, scratch))

    return Run((name,), run)


def _quickstart(_: Path, scratch: Path) -> str:
    """A node of a web shop, its `cdc_raw` and its schema.

    The shop's own page views fill the segments and a clean stop completes the last one, so that the
    schema knows every table.
    """
    settings = NodeSettings(cluster_name="quickstart")
    with CassandraNode(scratch / "node", settings=settings) as node:
        for statement in shop.SCHEMA:
            node.execute(statement)
        for number, statement in enumerate(shop.statements()):
            node.execute(statement)
            if number % _WRITES_A_PAGE_VIEW == 0:
                node.execute(shop.PAGE_VIEW, shop.page_view(number // _WRITES_A_PAGE_VIEW))
        schema = node.describe_schema()
        node.stop()
        segments = [each.path for each in node.cdc_segments() if each.is_completed]
        write_segments(new_folder(QUICKSTART / "cdc_raw"), segments)
        (QUICKSTART / "schema.cql").write_text(schema, encoding="utf-8")
    return f"{len(segments)} segments"


def _peer(_: Path, scratch: Path) -> str:
    """All cases of the peer, what it sends of them, and the page on both."""
    recording = run_peer(FOLDER, scratch, live=False, progress=lambda _: None)
    pairs = list(zip(recording.cases, recording.ours(scratch), strict=True))
    PATH.write_text(document(pairs, Results.load()), "utf-8")
    events = sum(len(case.sent) for case in recording.cases)
    return f"{len(recording.cases)} cases, {events} events"


_LZ4 = "LZ4Compressor"
_PLAIN = NodeSettings()
_NONE = NodeSettings(storage_compatibility_mode="NONE")
_PACKED = NodeSettings(commitlog_compression=_LZ4)
_ZSTD = NodeSettings(commitlog_compression="ZstdCompressor")
_NOOP = NodeSettings(commitlog_compression="NoopCompressor")
_SNAPPY = NodeSettings(commitlog_compression="SnappyCompressor")
_DEFLATE = NodeSettings(commitlog_compression="DeflateCompressor")
_PACKED_NONE = replace(_NONE, commitlog_compression=_LZ4)
_ZSTD_NONE = replace(_NONE, commitlog_compression="ZstdCompressor")
_DIRECT = replace(_NONE, yaml={"commitlog_disk_access_mode": "direct"})
_CBC = "AES/CBC/PKCS5Padding"
_CTR = "AES/CTR/NoPadding"
_SIX = "6.0-alpha2"

RUNS = (
    _single("quickstart", _quickstart),
    _workloads(
        "5.0",
        "5.0.9",
        _PLAIN,
        "types collections deletions ttl timestamps wide batches transactions counters views large "
        "random",
    ),
    _workloads("5.0", "5.0.9", _PACKED, "lz4=large lz4-deletions=deletions"),
    _workloads("5.0", "5.0.9", _SNAPPY, "snappy=deletions"),
    _workloads("5.0", "5.0.9", _DEFLATE, "deflate=collections"),
    _workloads("5.0", "5.0.9", _ZSTD, "zstd=large"),
    _workloads("5.0", "5.0.9", _NOOP, "noop=batches"),
    _workloads("5.0", "5.0.9", _PLAIN, "encrypted=large", cipher=_CBC),
    _workloads("5.0-none", "5.0.9", _NONE, "types deletions timestamps random ttl=ttl_longest"),
    _workloads("5.0-none", "5.0.9", _PACKED_NONE, "lz4=large"),
    _workloads("5.0-none", "5.0.9", _NONE, "encrypted-ctr=deletions", cipher=_CTR, chunk_kib=4),
    _workloads("6.0", _SIX, _PLAIN, "constraints batches"),
    _workloads(
        "6.0-none", _SIX, _NONE, "constraints types deletions counters views ttl=ttl_longest"
    ),
    _workloads("6.0-none", _SIX, _PACKED_NONE, "lz4=deletions"),
    _workloads("6.0-none", _SIX, _ZSTD_NONE, "zstd=collections"),
    _workloads("6.0-none", _SIX, _DIRECT, "direct=collections"),
    _workloads("6.0-none", _SIX, _NONE, "encrypted=batches", cipher=_CBC, chunk_kib=4),
    _workloads("4.1", "4.1.10", _PLAIN, "types collections deletions batches"),
    _workloads("4.1", "4.1.10", _PACKED, "lz4=large"),
    _workloads("4.1", "4.1.10", _PLAIN, "encrypted=batches", cipher=_CBC, chunk_kib=4),
    _workloads("4.0", "4.0.19", _PLAIN, "types collections deletions random"),
    _workloads("3.11", "3.11.19", _PLAIN, "mixed"),
    _single("5.0/kill9", partial(kill.record, compression=None)),
    _single("5.0/kill9-lz4", partial(kill.record, compression=_LZ4)),
    _single("5.0/live", partial(live.record, compression=None)),
    _single("5.0/live-lz4", partial(live.record, compression=_LZ4)),
    _single("5.0/three-nodes", cluster.record),
    _single(
        "6.0-none/three-nodes", partial(cluster.record, version=_SIX, settings=_NONE, statements=40)
    ),
    _single("5.0/counter-shards", counters.record),
    _single("5.0-none/auto-repair", schema_changes.record_auto_repair),
    _single("6.0/epochs", schema_changes.record_epochs),
    _single("peer", _peer),
)
