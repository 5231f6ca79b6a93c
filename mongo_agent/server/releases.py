"""The supported releases of MongoDB, and their features for streams and snapshots.

This is the only table of releases. Compatible databases also report a release, but may not support
all its features, so the agent probes for `startAfter` (`change_stream.options`).
"""

from typing import Literal

Version = tuple[int, ...]
LargeEvents = Literal["split", "measure", "none"]
"""How a server supports events above 16 MB: it can send them in parts, measure them, or neither."""

_OLDEST = (4, 2)
_EVENT_SIZES = (4, 4)
# The rapid releases 6.1 to 6.3 are older than 6.0.9.
_SPLIT_EVENTS, _NO_SPLIT_EVENTS, _SPLIT_EVENTS_AGAIN = (6, 0, 9), (6, 1), (7, 0)
SNAPSHOT_READS = (5, 0)
"""The first release with reads at a cluster time."""
IMAGES = (6, 0)
"""The first release with pre- and post-images."""
EXPANDED_EVENTS = (6, 0)
"""The first release with events of created collections, indexes and options."""
_NEVER_RESTRICTED = (7, 0)
DIRECT_SHARD_CHECK = (8, 0)
"""The first release that requires a privilege for reads from a shard without a mongos."""


_WITHDRAWN_READER, _WITHOUT_IT = (9, 0), (9, 0, 2)


def reads_streams_in_a_withdrawn_way(version: Version) -> bool:
    """Whether change streams use the reader and the look-up that MongoDB 9.0.2 switched off
    (SERVER-135099 and SERVER-134970, release notes of 9.0)."""
    return _WITHDRAWN_READER <= version < _WITHOUT_IT


def may_restrict_features(version: Version) -> bool:
    """Whether the release can run with the feature compatibility version of one without images and
    expanded events."""
    return EXPANDED_EVENTS <= version < _NEVER_RESTRICTED


def release_text(version: Version) -> str:
    return ".".join(map(str, version))


def unsupported_release(version: Version) -> str | None:
    """Return an error for a release without `startAfter`: a resumed stream could have a gap."""
    if version >= _OLDEST:
        return None
    return (
        f"MongoDB {release_text(version)} cannot resume a stream after a dropped collection "
        "(`startAfter`), and its resume tokens have a different format. Use MongoDB 4.2 or later."
    )


def large_events_of(version: Version) -> LargeEvents:
    """Return how a release supports large events."""
    if version >= _SPLIT_EVENTS_AGAIN or _SPLIT_EVENTS <= version < _NO_SPLIT_EVENTS:
        return "split"
    return "measure" if version >= _EVENT_SIZES else "none"
