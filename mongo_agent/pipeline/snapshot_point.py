"""The point of a stream for a snapshot: after all changes up to a time, before all later changes.

      placed                                   │ to come
    ──●────●────●(last event)─────────●(token) │ ○(next event)────○──▶  cluster time
                                    ▲
                                  point

A token without an event, a high-water mark, precedes the events of its own time. So all earlier
events are placed, and no event of its time if the last event is earlier.

While nothing else is written, the server repeats the token of the last event. A reply without
events then proves that all events of its time are placed, because they belong to one oplog entry.
Through a mongos they may belong to several shards, so only a later time is a proof.
"""

from dataclasses import dataclass

from mongo_agent.change_stream.position import is_ordered
from mongo_agent.change_stream.reader import StreamBatch
from mongo_agent.documents import ClusterTime


@dataclass(frozen=True, slots=True)
class StreamWatermark:
    """Progress of the output in a stream: the times of its last event and of the token after it.

    `is_silent`: a reply without events came after the last event. `is_merged`: the stream merges
    several shards. `has_moved`: the server has passed the token with which the stream began.
    `is_opaque`: the tokens contain no time; `token` is then the time of the last event, or the last
    time that a reply without events covers.
    """

    last_event: ClusterTime
    token: ClusterTime
    is_silent: bool = False
    is_merged: bool = False
    has_moved: bool = False
    is_opaque: bool = False

    @property
    def through(self) -> ClusterTime:
        """The time up to which all events are certainly placed."""
        is_covered = self.token == self.last_event or self.is_opaque
        if is_covered and self.is_silent and not self.is_merged:
            return max(self.token, self.last_event)
        return max(self.token, self.last_event).before

    @property
    def scanned(self) -> ClusterTime:
        """The time up to which all drops and renames are placed: a reply without events has the
        time of the last oplog entry that the server scanned."""
        if self.is_silent and self.has_moved and not self.is_merged:
            return self.token
        return self.through

    def after(self, read: StreamBatch) -> "StreamWatermark":
        is_silent = not read.events and not len(read.batch)
        last_event = read.last_time or self.last_event
        position = read.position
        has_moved = self.has_moved or position.time != self.token
        is_opaque = bool(position.token) and not is_ordered(position.token)
        return StreamWatermark(
            last_event, position.time, is_silent, self.is_merged, has_moved, is_opaque
        )


def exact_point(placed: StreamWatermark, following: StreamBatch | None) -> ClusterTime | None:
    """Return the time at which the output equals the state of the collections, or None if only some
    events of a time may be placed. `following` is the next batch, if it has been read."""
    if following is not None and following.first_time is not None:
        if following.first_time > placed.last_event:
            return following.first_time.before
        return None
    if placed.token > placed.last_event:
        return placed.token.before
    return placed.last_event if placed.is_silent and not placed.is_merged else None
