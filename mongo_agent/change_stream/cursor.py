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
from bson import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo.client_session import ClientSession
from pymongo.errors import OperationFailure, PyMongoError

from mongo_agent.capture.namespaces import Scope
from mongo_agent.change_stream.options import StreamOptions, bare_stage, large_event_stage
from mongo_agent.change_stream.position import Opening
from mongo_agent.change_stream.tokens import Token
from mongo_agent.documents import ClusterTime
from mongo_agent.encoder import ChangeEvents, StreamReply
from mongo_agent.server.commands import (
    Client,
    ServerAffinity,
    decode_replies,
    new_session,
    run_command,
)
from mongo_agent.server.errors import RESUMABLE_LABEL, Failure, classify_failure, error_text

_MOST_LIMITED = 1024
"""Without a configured batch size: from this size on, the server chooses again."""
_RAW: CodecOptions[RawBSONDocument] = CodecOptions(document_class=RawBSONDocument)


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


class StreamCursor:
    """Usage: `with StreamCursor.open(…) as cursor: cursor.read()`."""

    def __init__(
        self,
        client: Client,
        session: Any,
        affinity: ServerAffinity,
        database: str,
        options: StreamOptions,
        reply: RawBSONDocument,
        batch_size: int,
    ) -> None:
        """`reply` is the reply to `aggregate`; `batch_size` limits its events, and 0 does not."""
        self._client = client
        self._affinity = affinity
        self._session = session
        self._database = database
        self._options = options
        self._batch_size = batch_size
        self._id, self._namespace = 0, ""
        self._opened: Reply | None = self._read_reply(reply)

    @classmethod
    def open(
        cls,
        client: Client,
        scope: Scope,
        stages: Sequence[Mapping[str, Any]],
        opening: Opening,
        options: StreamOptions,
    ) -> Self:
        """Open a stream; `stages` follow `$changeStream`. Raises `StreamFailedError`.

        Servers report a damaged token with various codes. The token is invalid if the stream opens
        without it and then fails with it again.
        """
        arguments = client, scope, stages, options
        try:
            return cls._open(opening, *arguments)
        except StreamFailedError as error:
            if opening.start_after is None or error.failure is not Failure.OTHER:
                raise
            try:
                cls._open(Opening(is_split=opening.is_split), *arguments).close()
            except StreamFailedError:
                raise error from None
        try:
            return cls._open(opening, *arguments)
        except StreamFailedError as error:
            if error.failure is not Failure.OTHER:
                raise
            raise StreamFailedError(Failure.INVALID_TOKEN, str(error)) from error

    @classmethod
    def _open(
        cls,
        opening: Opening,
        client: Client,
        scope: Scope,
        stages: Sequence[Mapping[str, Any]],
        options: StreamOptions,
    ) -> Self:
        stage = _stream_stage(scope, opening, options)
        pipeline = [{"$changeStream": stage}, *stages]
        if opening.is_bare:
            pipeline.append(bare_stage())
        elif opening.is_split:
            pipeline.append(large_event_stage(options.large_events))
        batch_size = opening.batch_size or options.batch_size
        cursor = {"batchSize": batch_size} if batch_size else {}
        command = {"aggregate": scope.collection or 1, "pipeline": pipeline, "cursor": cursor}
        database = scope.database or "admin"
        with _stream_errors():
            session = new_session(client)
        affinity = ServerAffinity()
        try:
            with affinity.active():
                reply = _run(client, session, database, command)
            return cls(client, session, affinity, database, options, reply, batch_size)
        except BaseException:
            _end_session(session)
            raise

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
        command["maxTimeMS"] = self._options.await_ms
        try:
            with self._affinity.active():
                reply = _run(self._client, self._session, self._database, command)
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
        time = parsed.operation_time
        if parsed.events and self._batch_size != self._options.batch_size:
            self._batch_size = _grown(self._batch_size, self._options.batch_size)
        return Reply(
            parsed.events, token, self._id == 0, None if time is None else ClusterTime(*time)
        )

    def close(self) -> None:
        """Close the cursor on the server; an unreachable server closes it after a timeout."""
        if self._id:
            command = {"killCursors": self._namespace, "cursors": [self._id]}
            self._id = 0
            with suppress(StreamFailedError), self._affinity.active():
                _run(self._client, self._session, self._database, command)
        self._opened = None
        _end_session(self._session)


def _grown(size: int, most: int) -> int:
    """The batch size after a successful read; 0 leaves it to the server."""
    limit = most or _MOST_LIMITED
    return 2 * size if 2 * size < limit else most


def read_cluster_time(client: Client) -> ClusterTime:
    """Query the cluster time. Raises `StreamFailedError`, also if the server reports none."""
    with _stream_errors(), decode_replies():
        time = run_command(client, "ping").get("operationTime")
        if time is not None:
            return ClusterTime(time.time, time.inc)
    raise StreamFailedError(Failure.NOT_SUPPORTED, "the server reports no cluster time")


def _stream_stage(scope: Scope, opening: Opening, options: StreamOptions) -> dict[str, Any]:
    stage: dict[str, Any] = {}
    if scope.database is None:
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


def _end_session(session: ClientSession | None) -> None:
    if session is not None:
        session.end_session()


def _run(
    client: Client, session: Any, database: str, command: Mapping[str, Any]
) -> RawBSONDocument:
    with _stream_errors():
        reply: RawBSONDocument = run_command(
            client, dict(command), database, codec_options=_RAW, session=session
        )
    return reply


@contextmanager
def _stream_errors() -> Iterator[None]:
    """Convert driver errors to `StreamFailedError`."""
    try:
        yield
    except PyMongoError as error:
        code = error.code if isinstance(error, OperationFailure) else None
        labels = [label for label in (RESUMABLE_LABEL,) if error.has_error_label(label)]
        raise StreamFailedError(classify_failure(code, labels), error_text(error)) from error
