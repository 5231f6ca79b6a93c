"""The interface of a transfer class of one's own: `commit.log.transfer.class=module:Class`.

    class Transfer:
        def __init__(self, settings: TransferSettings) -> None: ...
        def transfer(self, segment: FinishedSegment) -> None: ...

The agent makes one object in a worker process (`sidecar.store.worker`), and calls `transfer` in its
main thread, for one segment at a time, oldest first. When the call returns, the segment is safe
elsewhere: the agent deletes its files. When it raises, the agent keeps the files and calls it again
after a pause. No error loses a segment.

A call can be repeated after it succeeded, because the agent or the process may be killed in
between. So a repeated call must be harmless. The process can be killed at any time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class TransferSettings:
    """What the class is made with."""

    node_id: str
    """Segments of two nodes can have the same name: use it in names."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Properties `commit.log.transfer.*` of yours, without the prefix."""


@dataclass(frozen=True, slots=True)
class FinishedSegment:
    """A segment whose events are all acknowledged. Read the files; do not change or move them."""

    log: Path
    """`CommitLog-<version>-<id>.log`."""
    idx: Path | None
    """Its `_cdc.idx`; None when the node has deleted it."""
    size_bytes: int
    """Of both files."""


class SegmentError(Exception):
    """Raise it when only this segment fails: the agent transfers the others first.

    After any other exception the agent repeats the same segment, since others would fail too.
    """


class SegmentTransfer(Protocol):
    """The class, once made."""

    def transfer(self, segment: FinishedSegment) -> None:
        """Copies both files to a safe place. Any exception means: not yet."""
