"""Records when a node updated each index file, and to which offset."""

import re
import threading
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path

_POLL_INTERVAL_S = 0.005
_NAME = re.compile(r"(CommitLog-\d+-\d+)_cdc\.idx")


@dataclass(frozen=True)
class IndexUpdate:
    """The index file has allowed reads up to `offset` since `at_s`, its modification time."""

    offset: int
    at_s: float


class IndexLog:
    """`with IndexLog(cdc_raw) as log:` records the updates of every index file.

    Of several updates between two polls, it records only the latest.
    """

    def __init__(self, cdc_raw: Path) -> None:
        self._cdc_raw = cdc_raw
        # By segment file name, in order.
        self._updates: dict[str, list[IndexUpdate]] = {}
        self._seen_ns: dict[Path, int] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="index-log", daemon=True)

    def __enter__(self) -> "IndexLog":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def update_of(self, segment: str, position: int) -> IndexUpdate | None:
        """The first update that makes this position readable, or None if none was seen."""
        updates = self._updates.get(segment, [])
        index = bisect_left(updates, position, key=lambda update: update.offset)
        return updates[index] if index < len(updates) else None

    def _run(self) -> None:
        while not self._stop.wait(_POLL_INTERVAL_S):
            for path in self._cdc_raw.glob("*_cdc.idx"):
                self._poll(path)

    def _poll(self, path: Path) -> None:
        try:
            changed_ns = path.stat().st_mtime_ns
            if self._seen_ns.get(path) == changed_ns:
                return
            first_line = path.read_text().partition("\n")[0]
        except FileNotFoundError:
            return
        # The node truncates the file before it writes.
        if not first_line or path.stat().st_mtime_ns != changed_ns:
            return
        self._seen_ns[path] = changed_ns
        name = _NAME.fullmatch(path.name)
        if name is None:
            return
        updates = self._updates.setdefault(f"{name[1]}.log", [])
        offset = int(first_line)
        if not updates or offset > updates[-1].offset:
            updates.append(IndexUpdate(offset, changed_ns / 1e9))
