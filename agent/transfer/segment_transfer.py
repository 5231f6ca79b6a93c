"""The interface of a custom transfer class: `commit.log.transfer.class=module:Class`.

    class Transfer:
        def __init__(self, settings: TransferSettings) -> None: ...
        def transfer(self, segment: FinishedSegment) -> None: ...

The agent creates one object in a worker process (`sidecar.store.worker`). It calls `transfer` on
the main thread, for one segment at a time, oldest first. When the call returns, the segment must be
safe elsewhere, because the agent deletes its files. If the call raises an exception, the agent
keeps the files and repeats the call after a pause. No error loses a segment.

The process can be killed at any time, and the agent may repeat a call that succeeded. So a repeated
call must be harmless.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class TransferSettings:
    """The argument of the constructor."""

    node_id: str
    """Use it in names, because segments of two nodes can have the same name."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Your properties `commit.log.transfer.*`, without the prefix."""


@dataclass(frozen=True, slots=True)
class FinishedSegment:
    """A segment whose events are all acknowledged. Read the files; do not change or move them."""

    log: Path
    """`CommitLog-<version>-<id>.log`."""
    idx: Path | None
    """Its `_cdc.idx`; None if the node has deleted it."""
    size_bytes: int
    """Size of both files."""


class SegmentError(Exception):
    """Raise it if only this segment fails: the agent then transfers other segments first.

    After any other exception, the agent retries the same segment, because others would fail too.
    """


class SegmentTransfer(Protocol):
    """An instance of the class."""

    def transfer(self, segment: FinishedSegment) -> None:
        """Copies both files to a safe place. Any exception means that they are not safe yet."""
