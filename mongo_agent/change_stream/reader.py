"""A thread that reads a stream and reopens it after failures.

    open ──▶ read, encode, enqueue ──▶ …
      ▲              │ failure
      └── pause ◀────┴──▶ end: the operator must act

The queue holds at most two replies. `recovery` decides how to handle failures.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from mongo_agent.capture.match_stage import fingerprint
from mongo_agent.change_stream.cursor import (
    Reply,
    StreamCursor,
    StreamFailedError,
    StreamSource,
    read_cluster_time,
)
from mongo_agent.change_stream.position import Opening, StreamPosition, opening
from mongo_agent.change_stream.recovery import RecoveryPolicy, Reopen, recovery
from mongo_agent.change_stream.tokens import (
    NO_EVENTS,
    Token,
    UnreadableEventError,
    read_token,
    time_at,
    token_at,
)
from mongo_agent.dead_letters import LostTimeRange
from mongo_agent.documents import ClusterTime
from mongo_agent.encoder import (
    ChangeEvents,
    FragmentJoiner,
    MongoBatch,
    MongoEncoder,
    MongoTransaction,
)
from mongo_agent.server.errors import Failure
from sidecar.errors import SidecarError
from sidecar.logs import RateLimitedLog, fields
from sidecar.process.wait_policy import RetryPause
from sidecar.schema_registry.registration import SchemaRegistration

logger = logging.getLogger(__name__)

_MOST_AHEAD = 2
_JOIN_S = 5.0


@dataclass(frozen=True, slots=True)
class StreamBatch:
    """The events and messages of one reply.

    `position` and the open `transaction` apply after the reply; the times belong to its first and
    last event. `lost` is set if the stream restarted before this reply.
    """

    events: ChangeEvents
    batch: MongoBatch
    position: StreamPosition
    transaction: MongoTransaction | None
    first_time: ClusterTime | None = None
    last_time: ClusterTime | None = None
    lost: LostTimeRange | None = None
    left_out: int = 0
    """Number of skipped events above 16 MiB."""


@dataclass(frozen=True, slots=True)
class StreamState:
    is_open: bool
    message: str
    reopenings: int = 0
    has_ended: bool = False
    """The agent exits with the error in `message`."""


@dataclass
class StreamEncoder:
    """Encodes events on the reader's thread; `registration` registers Avro schemas."""

    encoder: MongoEncoder
    transaction: MongoTransaction | None
    """The open transaction."""
    registration: SchemaRegistration | None = None

    def encode(self, events: ChangeEvents, closed: threading.Event) -> MongoBatch | None:
        """Encode events, waiting for the schema registry; return None if `closed` is set first.

        Raises AccessDeniedError if the registry rejects the agent.
        """
        if self.registration is not None:
            self.registration.reconsider(closed)
        transaction = self.transaction
        batch = self._encode_registered(
            lambda: self.encoder.encode(events, transaction=transaction), closed
        )
        if batch is not None:
            self.transaction = batch.transaction_after(len(events))
        return batch

    def end(self, time: ClusterTime, closed: threading.Event) -> MongoBatch | None:
        """Encode the end of the open transaction if a token with this time proves that it ended."""
        open_one = self.transaction
        if open_one is None:
            return None
        batch = self._encode_registered(
            lambda: self.encoder.end_transaction(open_one, (time.second, time.increment)), closed
        )
        if batch is None or not len(batch):
            return None
        self.transaction = None
        return batch

    def _encode_registered(
        self, make: Callable[[], MongoBatch], closed: threading.Event
    ) -> MongoBatch | None:
        batch = make()
        while self.registration is not None and batch.unregistered:
            if not self.registration.wait(batch.unregistered, closed):
                return None
            batch = make()
        return batch


class StreamReader:
    """Reads a stream: `start`, then `peek` and `take`, then `close`. Calls `wake` after each read
    and each state change."""

    def __init__(
        self,
        source: StreamSource,
        position: StreamPosition,
        encoding: StreamEncoder,
        *,
        rules: RecoveryPolicy,
        pause: RetryPause,
        wake: Callable[[], None],
    ) -> None:
        """`position` is where the stream starts; `pause` limits the attempts to open it."""
        self._source = source
        self._fingerprint = fingerprint(source.stages)
        self._position = position
        self._encoding = encoding
        self._rules = rules
        self._pause = pause
        self._wake = wake
        self._reads: deque[StreamBatch] = deque()
        self._changed = threading.Condition()
        self._closed = threading.Event()
        self._stopped_at_s = 0.0
        self._lost: LostTimeRange | None = None
        self._joiner = self._new_joiner()
        self._is_reread = False
        self._has_advanced = False
        self._replied_at: ClusterTime | None = None
        self._repeated = RateLimitedLog(logger)
        self._thread = threading.Thread(target=self._run, name="change-stream", daemon=True)
        self.state = StreamState(False, "the agent is opening the change stream")
        self.fatal: SidecarError | None = None
        """The error that ended the reader."""

    def start(self) -> None:
        self._thread.start()

    def peek(self) -> StreamBatch | None:
        """Return the next reply without removing it, or None if the queue is empty."""
        with self._changed:
            return self._reads[0] if self._reads else None

    def take(self) -> StreamBatch | None:
        """Remove and return the next reply, or None if the queue is empty."""
        with self._changed:
            if not self._reads:
                return None
            self._changed.notify_all()
            return self._reads.popleft()

    def stop(self) -> None:
        """Stop reading, without waiting."""
        with self._changed:
            if not self._closed.is_set():
                self._stopped_at_s = time.monotonic()
            self._closed.set()
            self._changed.notify_all()

    def close(self) -> None:
        """Stop reading and wait for the thread, at most `_JOIN_S` seconds after `stop`."""
        self.stop()
        if self._thread.ident is not None:
            self._thread.join(max(0.0, self._stopped_at_s + _JOIN_S - time.monotonic()))

    def _run(self) -> None:
        try:
            self._read_on()
        except SidecarError as error:
            self._end(error)
        except Exception as error:
            logger.debug("traceback of the error", exc_info=error)
            self._end(
                SidecarError(
                    f"Reading the change stream failed unexpectedly: {error!r}. Restart the agent; "
                    "if the error recurs, report it with the log at level debug."
                )
            )

    def _end(self, error: SidecarError) -> None:
        self.state = StreamState(False, str(error), self.state.reopenings, has_ended=True)
        self.fatal = error
        self._wake()

    def _read_on(self) -> None:
        start = opening(self._position, self._fingerprint)
        is_after_failure = is_endless = False
        while not self._closed.is_set():
            self._has_advanced = False
            try:
                self._read(start, is_after_failure=is_after_failure)
                failure, message = None, "the server closed the stream after an invalidation"
            except StreamFailedError as error:
                failure, message = error.failure, str(error)
            except UnreadableEventError as error:
                failure, message = Failure.OTHER, str(error)
            if self._closed.is_set():
                return
            if self._has_advanced:
                self._pause.succeeded()
                is_endless = False
            step = recovery(failure, message, start, self._position, self._rules)
            if isinstance(step, SidecarError):
                raise step
            start, is_after_failure = step.opening, step.has_pause
            self._joiner = self._new_joiner()
            self._note(step, message)
            is_endless |= step.is_access_denied and self._rules.waits_when_denied
            if step.has_pause:
                pause_s = self._pause.failed(is_jittered=True)
                if self._pause.is_spent and not is_endless:
                    raise step.final_error(self._pause.attempts)
                details = fields(in_ms=round(pause_s * 1000), reason=message)
                logger.debug("reopening the stream", extra=details)
                self._closed.wait(pause_s)

    def _note(self, step: Reopen, message: str) -> None:
        self.state = StreamState(False, step.message, self.state.reopenings + 1)
        self._repeated.log("reopen", step.message, reason=message)
        if step.lost is not None:
            self._lost = step.lost
        self._wake()

    def _read(self, start: Opening, *, is_after_failure: bool) -> None:
        """Read until the cursor or the reader closes. Raises `StreamFailedError`."""
        if self._lost is not None:
            self._begin_anew()
            start = opening(self._position, self._fingerprint)
        with StreamCursor.open(self._source, start) as cursor:
            self._replied_at = None
            if not is_after_failure:
                self._note_open()
            reply = cursor.read()
            self._hand_over(reply, start)
            while cursor.is_open and not self._closed.is_set():
                if start.is_bare and reply.events:
                    return
                reply = cursor.read()
                # After a failure, opening the stream proves nothing: the first reply may be empty.
                self._has_advanced = True
                if not self.state.is_open:
                    self._note_open()
                self._hand_over(reply, start)

    def _note_open(self) -> None:
        self.state = StreamState(True, "the change stream is open", self.state.reopenings)
        self._repeated.resolved("reopen", "The change stream is open again.")
        self._wake()

    def _new_joiner(self) -> FragmentJoiner:
        """Create an empty joiner: a reopened stream repeats an event from its first fragment."""
        return FragmentJoiner(skips_split_events=self._rules.oversize == "skip")

    def _begin_anew(self) -> None:
        """Restart the stream at the current time; the next batch reports the lost changes."""
        self._position = position = self._position_at(
            {}, read_cluster_time(self._source.client).after
        )
        self._encoding.transaction = None
        nothing = self._encoding.encode(NO_EVENTS, self._closed)
        if nothing is not None:
            self._put(StreamBatch(NO_EVENTS, nothing, position, None))

    def _hand_over(self, reply: Reply, start: Opening) -> None:
        events, skipped = reply.events, 0
        if start.sent is not None:
            events = events.after(start.sent["_data"])
        if start.is_split or start.is_bare:
            try:
                events, skipped = self._joiner.join(events)
            except ValueError as error:
                raise UnreadableEventError(str(error)) from error
        position = self._position_after(reply, events)
        if position is None:
            return
        if reply.is_last and not self._source.options.has_start_after:
            # `resumeAfter` rejects the token of an invalidation. Later events have a later time.
            position = self._position_at({}, position.time.after)
        encoding = self._encoding
        transaction = encoding.transaction
        batch = encoding.encode(events, self._closed)
        if batch is None:
            return
        if self._is_in_doubt(batch):
            encoding.transaction = transaction
            raise UnreadableEventError(f"an event is damaged: {batch.failures[0].cause}")
        first, last = self._times(events, position)
        self._position = position
        self._has_advanced |= bool(events)
        read = StreamBatch(events, batch, position, encoding.transaction, first, last)
        self._put(replace(read, left_out=skipped) if skipped else read)
        if (end := encoding.end(position.time, self._closed)) is not None:
            self._put(StreamBatch(NO_EVENTS, end, position, None))

    def _is_in_doubt(self, batch: MongoBatch) -> bool:
        """Whether bytes may have been damaged in transit. They become dead letters only if a
        second read returns damaged bytes, too."""
        is_damaged = any(failure.is_malformed for failure in batch.failures)
        if is_damaged or len(batch):
            self._is_reread = is_damaged and not self._is_reread
        return self._is_reread

    def _times(
        self, events: ChangeEvents, position: StreamPosition
    ) -> tuple[ClusterTime | None, ClusterTime | None]:
        """Return the times of the first and last event, or bounds for damaged events."""
        if not events:
            return None, None
        first, last = self._position.time, position.time
        with suppress(UnreadableEventError):
            first = time_at(events, 0)
        with suppress(UnreadableEventError):
            last = time_at(events, -1)
        return first, last

    def _put(self, read: StreamBatch) -> None:
        """Enqueue a reply, waiting while the queue is full."""
        if self._lost is not None:
            read, self._lost = replace(read, lost=self._lost), None
        with self._changed:
            self._changed.wait_for(lambda: self._closed.is_set() or len(self._reads) < _MOST_AHEAD)
            self._reads.append(read)
        self._wake()

    def _position_after(self, reply: Reply, events: ChangeEvents) -> StreamPosition | None:
        """Return the position after the whole events of a reply."""
        if reply.token is None or not self._joiner.is_complete:
            if not events:
                return None
            return self._position_at(token_at(events, -1), time_at(events, -1))
        try:
            time = read_token(reply.token).time
        except ValueError:
            # The server's tokens are opaque. The agent requested this reply after the previous
            # reply, so if it is empty, no event up to the time of the previous reply is missing.
            last = self._position
            reached = last.time if last.token else last.time.before
            time = time_at(events, -1) if events else max(reached, self._replied_at or reached)
            self._replied_at = reply.operation_time
        return self._position_at(reply.token, time)

    def _position_at(self, token: Token, time: ClusterTime) -> StreamPosition:
        return StreamPosition(token, time, self._fingerprint, self._position.cluster)
