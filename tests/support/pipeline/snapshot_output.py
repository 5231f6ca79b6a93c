"""The order of stream and copies as a pipeline makes it, in one thread, for tests.

It places the replies of a change stream and the chunks of copies into one list, and keeps of each
place what would be stored there. So a test can stop it anywhere, start a second one from what was
stored, and look at what a consumer has seen.
"""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import bson

from mongo_agent.capture.namespaces import Namespaces, Scope
from mongo_agent.change_stream.cursor import Reply, StreamCursor, StreamFailedError, StreamSource
from mongo_agent.change_stream.options import StreamOptions
from mongo_agent.change_stream.position import Opening
from mongo_agent.change_stream.tokens import Token, read_token
from mongo_agent.dead_letters import Unreadable
from mongo_agent.documents import ClusterTime
from mongo_agent.encoder import MongoEncoder
from mongo_agent.server.commands import Client
from mongo_agent.snapshot.encoding import EncodedChunk
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import SnapshotReason, SnapshotRequest
from mongo_agent.snapshot.settings import SnapshotSettings
from mongo_agent.snapshot.snapshotter import Snapshotter
from sidecar.process.wait_policy import RetryPause

ENCODER = MongoEncoder(topic_prefix="L", replica_set="rs0", node_id="agent-1")
ALL = Namespaces()
INITIAL = SnapshotProgress().requested(SnapshotRequest(SnapshotReason.INITIAL))
WAIT_S = 300.0

Message = tuple[str, str, dict[str, Any] | None]
"""Topic, key, value."""


@dataclass
class Place:
    """Where a restart may go on: so many messages, the token and the progress behind them."""

    messages: int
    token: Token | None
    progress: str


@dataclass
class Output:
    """What a consumer sees. `places` are those that may have been stored."""

    messages: list[Message] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    rejected: list[Unreadable] = field(default_factory=list)
    ids: set[bytes] = field(default_factory=set)
    """Of all messages; with `drops_repeats` each is seen once."""
    drops_repeats: bool = False

    def states(self, topic: str) -> dict[str, list[Any]]:
        """By key the documents in their order; None where one was deleted. A copied document that
        was seen before has to be as it was seen last, and counts no second time."""
        states: dict[str, list[Any]] = {}
        for each, key, value in self.messages:
            if each == topic and value is not None:
                after = value["after"]
                document = None if after is None else json.loads(after)
                seen = states.setdefault(key, [])
                if value["op"] == "r" and seen:
                    assert seen[-1] == document, key
                else:
                    seen.append(document)
        return states

    def copied(self, topic: str) -> list[Any]:
        """The `_id`s of copied documents, in order."""
        return [
            json.loads(value["after"])["_id"]
            for each, _, value in self.messages
            if each == topic and value is not None and value["op"] == "r"
        ]

    def marks(self) -> list[str]:
        """Of copied documents."""
        return [
            value["source"]["snapshot"]
            for _, _, value in self.messages
            if value is not None and value["op"] == "r"
        ]


class Pipeline:
    """`with Pipeline(client) as pipeline: pipeline.run()`. One step places something, or nothing
    when there is nothing to place."""

    def __init__(
        self,
        client: Client,
        *,
        settings: SnapshotSettings | None = None,
        namespaces: Namespaces = ALL,
        progress: SnapshotProgress = INITIAL,
        token: Token | None = None,
        output: Output | None = None,
        encoder: MongoEncoder = ENCODER,
        clock: Callable[[], float] | None = None,
        is_ready: Callable[[str, str], bool] = lambda database, collection: True,
        may_repeat: bool = False,
        batch_size: int = 0,
    ) -> None:
        self._options = StreamOptions(await_ms=1, batch_size=batch_size)
        self._client = client
        self._encoder = encoder
        self.output = output or Output()
        self._woken = threading.Event()
        self.snapshotter = Snapshotter(
            client,
            encoder,
            namespaces,
            settings or SnapshotSettings(chunk_size=3),
            progress,
            wake=self._woken.set,
            new_pause=lambda: RetryPause(0.001, 0.004, 16),
            clock=clock or time.monotonic,
            is_ready=is_ready,
            may_repeat=may_repeat,
        )
        self._token = token
        self._last_event = ClusterTime(0, 0)
        self._reached = ClusterTime(0, 0)
        self._next: Reply | None = None
        self._cursor = self._open()

    @classmethod
    def restarted(cls, client: Client, output: Output, place: Place, **options: Any) -> "Pipeline":
        """One that goes on where another one stored its position; what came behind is gone, as a
        consumer that takes repeats for one sees it."""
        del output.messages[place.messages :]
        progress = SnapshotProgress.from_json(place.progress)
        return cls(client, output=output, token=place.token, progress=progress, **options)

    def __enter__(self) -> "Pipeline":
        return self

    def __exit__(self, *_: object) -> None:
        self._cursor.close()
        self.snapshotter.close()

    def step(self) -> None:
        """Place what is there: chunks of a round, else a reply; then begin a round if it can."""
        self._place_chunks()
        if self.snapshotter.holds_stream:
            self._woken.wait(WAIT_S)
            self._woken.clear()
            return
        if self._next is None:
            self._next = self._read()
        if self.snapshotter.wants_point and self._begin_round():
            return
        self._place_reply()
        self._place_chunks()

    def run(self, until: Callable[[], bool] | None = None) -> None:
        """Until something is so, or nothing is left to copy and nothing comes of the stream."""
        while not (until or self._is_idle)():
            self.step()

    def read_on(self) -> None:
        """Until a reply has no events."""
        while True:
            reply = self._next or self._read()
            self._next = reply
            self._place_reply()
            if not reply.events:
                return

    def _is_idle(self) -> bool:
        if not self.snapshotter.progress.is_idle or self.snapshotter.holds_stream:
            return False
        self.read_on()
        self.read_on()
        return True

    def _open(self) -> StreamCursor:
        opening = Opening() if self._token is None else Opening(start_after=self._token)
        source = StreamSource(self._client, Scope(), [], self._options)
        return StreamCursor.open(source, opening)

    def _read(self) -> Reply:
        try:
            return self._cursor.read()
        except StreamFailedError:
            self._cursor.close()
            self._cursor = self._open()
            return self._cursor.read()

    def _point(self) -> ClusterTime | None:
        """Up to which all events are placed and none behind it, if that is known."""
        ahead = () if self._next is None else self._next.events
        reached = _time_of(ahead[0]) if ahead else self._reached
        # Of a time that is the last event's own there may be others.
        return _before(reached) if reached > self._last_event else None

    def _begin_round(self) -> bool:
        point = self._point()
        if point is not None:
            self.snapshotter.begin(point)
        return self.snapshotter.holds_stream

    def _place_reply(self) -> None:
        reply, self._next = self._next, None
        assert reply is not None
        assert reply.token is not None
        self._add(self._encoder.encode(reply.events).messages)
        if reply.events:
            self._last_event = _time_of(reply.events[-1])
        self._token = reply.token
        self._reached = read_token(reply.token).time
        self.snapshotter.apply_ddl_events(reply.events, is_merged=False)
        self.snapshotter.note_passed(reply.events, _before(self._reached), self._reached)
        self._store()

    def _place_chunks(self) -> None:
        for chunk in self.snapshotter.take():
            self._place_chunk(chunk)

    def _place_chunk(self, chunk: EncodedChunk) -> None:
        self._add(chunk.batch.messages)
        self.output.rejected += chunk.rejected
        self._store(chunk.progress)

    def _add(self, messages: Any) -> None:
        for topic, key, value, headers, _ in messages(0, 2**31):
            identity = dict(headers)["cdc.id"]
            if self.output.drops_repeats and identity in self.output.ids:
                continue
            self.output.ids.add(identity)
            parsed = None if value is None else json.loads(value)
            self.output.messages.append((topic, key.decode(), parsed))

    def _store(self, progress: SnapshotProgress | None = None) -> None:
        stored = (progress or self.snapshotter.progress).to_json()
        self.output.places.append(Place(len(self.output.messages), self._token, stored))


def _time_of(event: bytes) -> ClusterTime:
    time = bson.decode(event)["clusterTime"]
    return ClusterTime(time.time, time.inc)


def _before(time: ClusterTime) -> ClusterTime:
    if time.increment > 0:
        return ClusterTime(time.second, time.increment - 1)
    return ClusterTime(time.second - 1, 2**32 - 1)
