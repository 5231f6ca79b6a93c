"""A `cdc_raw` for one agent beside a node that several tests share.

An agent reads and deletes all segments of its folder. So each has a folder of its own, into which
the segments of the node are linked while the node writes them.
"""

import threading
from pathlib import Path
from typing import Self

from tests.support.servers.cassandra import CassandraNode, segment_id
from tests.support.servers.processes import POLL_INTERVAL_S


class LinkedCdcRaw:
    """`with LinkedCdcRaw(node, folder):` follows the node's `cdc_raw` until the end of the block.

    `folder` has the changes from the start of the block on. A segment is a hard link, so its
    content is the node's. An index file is written anew when the node has written it: a write
    through another link wakes no watcher of `folder`. A segment that is completed leaves the
    node's folder, so it does not fill `cdc_total_space`.
    """

    def __init__(self, node: CassandraNode, folder: Path) -> None:
        self.folder = folder
        self._node = node
        self._last_before = 0
        self._linked: set[str] = set()
        self._indexes: dict[str, bytes] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="linked cdc_raw", daemon=True)

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True)
        self._last_before = max(map(segment_id, self._node.commitlog.glob("CommitLog-*.log")))
        self._node.close_segment()
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(POLL_INTERVAL_S):
            self._follow()

    def _follow(self) -> None:
        present = [
            log
            for log in sorted(self._node.cdc_raw.glob("CommitLog-*.log"), key=segment_id)
            if segment_id(log) > self._last_before
        ]
        for log in present:
            self._link(log)
        # From the oldest on, as the node writes them.
        for log in present:
            self._copy_index(log)
        # The node deletes a segment without CDC data.
        for name in self._linked - {log.name for log in present} - self._indexes.keys():
            (self.folder / name).unlink(missing_ok=True)

    def _link(self, log: Path) -> None:
        if log.name in self._linked:
            return
        try:
            (self.folder / log.name).hardlink_to(log)
        except FileNotFoundError:
            return
        self._linked.add(log.name)

    def _copy_index(self, log: Path) -> None:
        index = log.with_name(f"{log.stem}_cdc.idx")
        try:
            content = index.read_bytes()
        except FileNotFoundError:
            return
        if content and content != self._indexes.get(log.name):
            (self.folder / index.name).write_bytes(content)
            self._indexes[log.name] = content
        if b"COMPLETED" in content:
            _delete(log)


def clear_cdc_raw(node: CassandraNode) -> None:
    """Deletes the completed segments in the node's own `cdc_raw`, as an agent does."""
    for segment in node.cdc_segments():
        if segment.is_completed:
            _delete(segment.path)


def _delete(log: Path) -> None:
    log.unlink(missing_ok=True)
    log.with_name(f"{log.stem}_cdc.idx").unlink(missing_ok=True)
