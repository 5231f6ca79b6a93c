"""A change stream cursor, read reply by reply.

The agent sends the commands itself, in one session, and keeps events as raw bytes of the reply. The
driver's change stream would decode each event and silently resume once after a failure. Here every
failure raises an error, and `recovery` decides how to proceed.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Self

import bson
from bson.raw_bson import RawBSONDocument
from pymongo.errors import PyMongoError

from mongo_agent.capture.namespaces import Scope
from mongo_agent.change_stream.options import BARE_STAGE, StreamOptions, large_event_stage
from mongo_agent.change_stream.position import Opening
from mongo_agent.change_stream.tokens import Token
from mongo_agent.documents import ClusterTime
from mongo_agent.encoder import ChangeEvents, StreamReply
from mongo_agent.server.commands import (
    RAW,
    Client,
    ServerAffinity,
    decode_replies,
    new_session,
    operation_time,
    run_command,
)
from mongo_agent.server.errors import Failure, classify_failure, error_text

_MOST_LIMITED = 1024
"""Without a configured batch size: from this size on, the server chooses again."""


class StreamFailedError(Exception):
    """A command failed; `failure` is the error class."""

    def __init__(self, failure: Failure, message: str) -> None:
        super().__init__(message)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class Reply:
    """Raw events, and the resume token after them, which advances even without events.

    `is_last`: the server closed the cursor, for example after an invalidation. `operation_time` is
    the `operationTime` of the reply.
    """

    events: ChangeEvents
    token: Token | None
    is_last: bool
    operation_time: ClusterTime | None = None


@dataclass(frozen=True, slots=True)
class StreamSource:
    """A stream that can be opened; `stages` follow `$changeStream`."""

    client: Client
    scope: Scope
    stages: Sequence[Mapping[str, Any]]
    options: StreamOptions


class StreamCursor:
    """Usage: `with StreamCursor.open(…) as cursor: cursor.read()`."""

    def __init__(self, source: StreamSource, opening: Opening) -> None:
        """Raises `StreamFailedError`."""
        self._source = source
        self._affinity = ServerAffinity()
        self._batch_size = opening.batch_size or source.options.batch_size
        """0: the server chooses."""
        self._id, self._namespace = 0, ""
        with _stream_errors():
            self._session = new_session(source.client)
        try:
            reply = self._run(_aggregate(source, opening, self._batch_size))
            self._opened: Reply | None = self._read_reply(reply)
        except BaseException:
            self._end_session()
            raise

    @classmethod
    def open(cls, source: StreamSource, opening: Opening) -> Self:
        """Open a stream. Raises `StreamFailedError`.

        Servers report a damaged token with various codes. The token is invalid if the stream opens
        without it and then fails with it again.
        """
        try:
            return cls(source, opening)
        except StreamFailedError as error:
            if opening.start_after is None or error.failure is not Failure.OTHER:
                raise
            try:
                cls(source, Opening(is_split=opening.is_split)).close()
            except StreamFailedError:
                raise error from None
        try:
            return cls(source, opening)
        except StreamFailedError as error:
            if error.failure is not Failure.OTHER:
                raise
            raise StreamFailedError(Failure.INVALID_TOKEN, str(error)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def is_open(self) -> bool:
        return self._opened is not None or self._id != 0

    def read(self) -> Reply:
        """Wait at most `await_ms` for events.

        Raises `StreamFailedError`, and ValueError for a closed cursor.
        """
        if self._opened is not None:
            opened, self._opened = self._opened, None
            return opened
        if self._id == 0:
            raise ValueError("read from a closed cursor")
        command: dict[str, Any] = {"getMore": self._id, "collection": self._namespace}
        if self._batch_size:
            command["batchSize"] = self._batch_size
        command["maxTimeMS"] = self._source.options.await_ms
        try:
            reply = self._run(command)
        except StreamFailedError:
            self._id = 0
            raise
        return self._read_reply(reply)

    def _read_reply(self, reply: RawBSONDocument) -> Reply:
        with _stream_errors(), decode_replies():
            # RawBSONDocument would create an object for each event.
            parsed = StreamReply(reply.raw)
            token = None if parsed.token is None else bson.decode(parsed.token)
        self._id = parsed.cursor_id
        self._namespace = parsed.namespace.partition(".")[2]
        time, most = parsed.operation_time, self._source.options.batch_size
        if parsed.events and self._batch_size != most:
            grown = 2 * self._batch_size
            self._batch_size = grown if grown < (most or _MOST_LIMITED) else most
        return Reply(
            parsed.events, token, self._id == 0, None if time is None else ClusterTime(*time)
        )

    def close(self) -> None:
        """Close the cursor on the server; an unreachable server closes it after a timeout."""
        if self._id:
            command = {"killCursors": self._namespace, "cursors": [self._id]}
            self._id = 0
            with suppress(StreamFailedError):
                self._run(command)
        self._opened = None
        self._end_session()

    def _run(self, command: Mapping[str, Any]) -> RawBSONDocument:
        source = self._source
        database = source.scope.database or "admin"
        with _stream_errors(), self._affinity.active():
            reply: RawBSONDocument = run_command(
                source.client, dict(command), database, codec_options=RAW, session=self._session
            )
        return reply

    def _end_session(self) -> None:
        if self._session is not None:
            self._session.end_session()


def read_cluster_time(client: Client) -> ClusterTime:
    """Query the cluster time. Raises `StreamFailedError`, also if the server reports none.

    It queries twice and returns the earlier time: a stream that starts too early repeats changes,
    but one that starts after the true time skips some.
    """
    with _stream_errors(), decode_replies():
        times = [operation_time(run_command(client, "ping")) for _ in range(2)]
        known = [time for time in times if time is not None]
        if len(known) == len(times):
            return min(known)
    raise StreamFailedError(Failure.NOT_SUPPORTED, "the server reports no cluster time")


def _aggregate(source: StreamSource, opening: Opening, batch_size: int) -> dict[str, Any]:
    """Build the command that opens the stream."""
    pipeline = [{"$changeStream": _stream_stage(source, opening)}, *source.stages]
    if opening.is_bare:
        pipeline.append(BARE_STAGE)
    elif opening.is_split:
        pipeline.append(large_event_stage(source.options.large_events))
    cursor = {"batchSize": batch_size} if batch_size else {}
    return {"aggregate": source.scope.collection or 1, "pipeline": pipeline, "cursor": cursor}


def _stream_stage(source: StreamSource, opening: Opening) -> dict[str, Any]:
    stage: dict[str, Any] = {}
    options = source.options
    if source.scope.database is None:
        stage["allChangesForCluster"] = True
    if opening.is_bare:
        options = replace(options, full_document="default", full_document_before="off")
    if options.full_document != "default":
        stage["fullDocument"] = options.full_document
    if options.full_document_before != "off":
        stage["fullDocumentBeforeChange"] = options.full_document_before
    if options.shows_expanded_events:
        stage["showExpandedEvents"] = True
    if opening.start_after is not None:
        name = "startAfter" if options.has_start_after else "resumeAfter"
        stage[name] = dict(opening.start_after)
    elif opening.from_time is not None:
        stage["startAtOperationTime"] = opening.from_time.timestamp
    return stage


@contextmanager
def _stream_errors() -> Iterator[None]:
    """Convert driver errors to `StreamFailedError`."""
    try:
        yield
    except PyMongoError as error:
        raise StreamFailedError(classify_failure(error), error_text(error)) from error
