"""Moves a quarantined segment back into `cdc_raw`, completely or not at all.

    1. `.CommitLog-7-1.log.tmp`, `.CommitLog-7-1_cdc.idx.tmp`   linked or copied into `cdc_raw`
    2. `CommitLog-7-1.log`, then `CommitLog-7-1_cdc.idx`        renamed and synced
    3. the reason is deleted from the quarantine, durably
    4. the segment, its index and the request are deleted from the quarantine

Neither the node nor the agent reads the temporary names. If the disk is full, step 1 fails and
leaves nothing in `cdc_raw`. Until step 4, the quarantine contains both the request and the segment:
the agent repeats the steps, and ignores the segment in `cdc_raw` (`ScanStep`). A reason that exists
after step 4 is newer and stays.
"""

import errno
import os
from pathlib import Path

from agent.cdc_raw.move import stage
from agent.cdc_raw.names import SegmentFiles, SegmentName
from agent.quarantine.files import QuarantinePaths
from sidecar.files.directories import sync_directory, temporary_of
from sidecar.files.regular import open_regular, regular_size_bytes

_COMPARED_BYTES = 1 << 20
_MAX_COMPARED_BYTES = 1 << 31
"""No segment is larger, but a user who may write to `cdc_raw` can create a larger file."""


def requeue(quarantine: Path, name: SegmentName, cdc_raw: Path) -> bool:
    """Moves the segment into `cdc_raw`; returns False if the quarantine does not contain it.
    Raises OSError; the call can then be repeated."""
    here, placed = SegmentFiles(quarantine, name), SegmentFiles(cdc_raw, name)
    marks = QuarantinePaths(quarantine, name.log)
    # If the segment was sent to a store since the request, the agent must first fetch it.
    if not here.log.exists() or marks.remote.exists():
        return False
    if not _place(here, placed):
        return False
    sync_directory(cdc_raw)
    marks.reason.unlink(missing_ok=True)
    sync_directory(quarantine)
    here.log.unlink()
    cancel_request(quarantine, name, cdc_raw)
    return True


def cancel_request(quarantine: Path, name: SegmentName, cdc_raw: Path) -> None:
    """Deletes the request for a segment that is not in the quarantine. Raises OSError."""
    here, marks = SegmentFiles(quarantine, name), QuarantinePaths(quarantine, name.log)
    # The remote marker is written before the segment leaves the quarantine.
    if here.log.exists() or marks.remote.exists():
        return
    # A move into the quarantine begins with the index, which may be the only copy.
    if SegmentFiles(cdc_raw, name).idx.exists():
        here.idx.unlink(missing_ok=True)
    marks.retry.unlink(missing_ok=True)
    sync_directory(quarantine)


def _is_complete(log: Path, placed: Path) -> bool:
    """Whether an earlier attempt, or the node, has put the whole segment into `cdc_raw`.

    Any user who may write to `cdc_raw` can plant a file with this name, and the quarantine contains
    the last copy of the segment. So only the same file or the same bytes count, and irregular files
    are replaced. Raises FileExistsError for a different file.
    """
    if regular_size_bytes(placed) is None:
        return False
    with (
        os.fdopen(open_regular(log, os.O_RDONLY), "rb") as quarantined,
        os.fdopen(open_regular(placed, os.O_RDONLY), "rb") as found,
    ):
        wanted, present = os.fstat(quarantined.fileno()), os.fstat(found.fileno())
        if os.path.samestat(wanted, present):
            return True
        if min(wanted.st_size, present.st_size) > _MAX_COMPARED_BYTES:
            reason = "cdc_raw has a different file of this name, too large to compare. Move it away"
            raise FileExistsError(errno.EEXIST, reason, str(placed))
        while block := found.read(_COMPARED_BYTES):
            expected = quarantined.read(len(block))
            # The node may have written more after the end of the quarantined file.
            if not block.startswith(expected):
                reason = "cdc_raw has a different file of this name. Move it away"
                raise FileExistsError(errno.EEXIST, reason, str(placed))
            if len(expected) < len(block):
                return True
        return not quarantined.read(1)


def _place(here: SegmentFiles, placed: SegmentFiles) -> bool:
    """Puts the files that are not in `cdc_raw` yet there; returns False without a segment."""
    staged_log, staged_idx = temporary_of(placed.log), temporary_of(placed.idx)
    has_log = _is_complete(here.log, placed.log)
    try:
        if not has_log and not stage(here.log, staged_log):
            return False
        is_idx_staged = not (has_log and placed.idx.exists()) and stage(here.idx, staged_idx)
        if not has_log:
            staged_log.replace(placed.log)
        if is_idx_staged:
            staged_idx.replace(placed.idx)
    finally:
        # Also after success: rename() does nothing if both names are links to the same file.
        for staged in (staged_log, staged_idx):
            staged.unlink(missing_ok=True)
    return True
