"""What is copied at a start, by the mode and what is stored."""

from dataclasses import replace

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import (
    CollectionSnapshot,
    InitialSnapshot,
    SnapshotOutcome,
    SnapshotReason,
    SnapshotRequest,
)
from mongo_agent.snapshot.settings import SnapshotMode

_NOT_CAPTURED = "it is not captured any more"
_NOT_WANTED = "`snapshot.mode` is `no_data`"


def progress_at_start(
    stored: SnapshotProgress, mode: SnapshotMode, namespaces: Namespaces, *, is_lost: bool = False
) -> SnapshotProgress:
    """The progress to go on with. `stored` is empty at the first start of all; `is_lost` says that
    changes behind the stored position are gone.

    An initial copy that was interrupted goes on, in the mode `always` too: one that is longer than
    the time between two restarts would never end otherwise.
    """
    progress = _without_uncaptured(stored, namespaces)
    if is_lost and mode in ("always", "when_needed"):
        progress = restarted(progress, "the position was lost")
    elif mode == "no_data":
        progress = _without_unasked(progress)
    elif _is_first(stored) or (mode == "always" and stored.initial is not InitialSnapshot.RUNNING):
        progress = progress.requested(SnapshotRequest(SnapshotReason.INITIAL))
    elif stored.scope is not None and stored.scope != namespaces and _has_gaps(progress):
        # A collection that the filters took before is copied, or its changes were all streamed.
        progress = progress.requested(SnapshotRequest(SnapshotReason.INCLUDED, known=stored.scope))
    return replace(progress, scope=namespaces)


def restarted(progress: SnapshotProgress, reason: str) -> SnapshotProgress:
    """Everything that is captured is copied once more; what was under way is part of that."""
    progress = progress.without_requests()
    for each in progress.collections:
        note = f"everything is copied again: {reason}"
        progress = progress.ended(each.number, SnapshotOutcome.STOPPED, note)
    return progress.requested(SnapshotRequest(SnapshotReason.INITIAL))


def _is_first(stored: SnapshotProgress) -> bool:
    return stored.scope is None and stored.initial is InitialSnapshot.NONE


def _has_gaps(progress: SnapshotProgress) -> bool:
    """Whether collections that are captured since may not be in a request that is still open."""
    return not any(each.reason is not SnapshotReason.SIGNAL for each in progress.requests)


def _without_uncaptured(progress: SnapshotProgress, namespaces: Namespaces) -> SnapshotProgress:
    gone = [
        each
        for each in progress.collections
        if not namespaces.captures(each.database, each.collection)
    ]
    return _ended(progress, gone, _NOT_CAPTURED)


def _without_unasked(progress: SnapshotProgress) -> SnapshotProgress:
    unasked = [each for each in progress.collections if each.reason is not SnapshotReason.SIGNAL]
    requests = tuple(each for each in progress.requests if each.reason is SnapshotReason.SIGNAL)
    return _ended(replace(progress, requests=requests), unasked, _NOT_WANTED)


def _ended(
    progress: SnapshotProgress, copies: list[CollectionSnapshot], note: str
) -> SnapshotProgress:
    for each in copies:
        progress = progress.ended(each.number, SnapshotOutcome.STOPPED, note)
    return progress
