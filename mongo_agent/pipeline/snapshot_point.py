"""Where in the stream a copy can be put: behind every change up to a time, before every later one.

      placed                                   │ to come
    ──●────●────●(last event)─────────●(token) │ ○(next event)────○──▶  cluster time
                                    ▲
                                  point

A token that no event has, a high-water mark, comes before the events of its own time. So all events
that are earlier than it are placed, and of its own time none, where the last event is earlier.

While nothing else is written the token stays that of the last event. Then a reply without events
says that all of its time are placed: they are of one entry of the oplog. Behind a mongos they may
be of several shards, and only a later time says it.
"""

from dataclasses import dataclass

from mongo_agent.change_stream.reader import StreamBatch
from mongo_agent.change_stream.tokens import ClusterTime


@dataclass(frozen=True, slots=True)
class StreamWatermark:
    """What the output has of a stream: the time of its last event, and of the token behind it.

    `is_silent`: a reply without events came behind the last event. `is_merged`: the stream is that
    of several shards.
    """

    last_event: ClusterTime
    token: ClusterTime
    is_silent: bool = False
    is_merged: bool = False

    @property
    def through(self) -> ClusterTime:
        """All events up to this time are placed for certain."""
        if self.token == self.last_event and self.is_silent and not self.is_merged:
            return self.last_event
        return max(self.token, self.last_event).before

    def behind(self, read: StreamBatch) -> "StreamWatermark":
        is_silent = not read.events and not len(read.batch)
        last_event = read.last_time or self.last_event
        return StreamWatermark(last_event, read.position.time, is_silent, self.is_merged)


def exact_point(placed: StreamWatermark, following: StreamBatch | None) -> ClusterTime | None:
    """The time at which the output is exactly the state of the collections; None where events of
    one time may be placed in part. `following` is what will be placed next, if that is there."""
    if following is not None and following.first_time is not None:
        if following.first_time > placed.last_event:
            return following.first_time.before
        return None
    if placed.token > placed.last_event:
        return placed.token.before
    return placed.last_event if placed.is_silent and not placed.is_merged else None
