"""A change stream's cursor: where it stands in the oplog, what it may start from, when it ends.

It only looks at entries that a majority has. Its position after a batch (`postBatchResumeToken`) is
the last event, or a high-water mark where the oplog was read to its end behind that event.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bson import Timestamp

from tests.support.mongodb.server.change_events import Options, Scope, events
from tests.support.mongodb.server.errors import DIRECT_IS_REFUSED, CommandError
from tests.support.mongodb.server.histories import History
from tests.support.mongodb.server.key_string import order
from tests.support.mongodb.server.oplog import Change, next_time
from tests.support.mongodb.server.pipelines import (
    OTHER_STAGES,
    STREAM_STAGES,
    Stage,
    stage_name,
    transformed,
)
from tests.support.mongodb.server.releases import Release
from tests.support.mongodb.server.store import Store, View
from tests.support.mongodb.server.tokens import Position, high_water_mark, parse_token
from tests.support.mongodb.server.wire import MAX_DOCUMENT_BYTES, Document, encode

_SPLIT = "$changeStreamSplitLargeEvent"
_STARTS = ("resumeAfter", "startAfter", "startAtOperationTime")
_OPTIONS = {"fullDocument", "fullDocumentBeforeChange", "showExpandedEvents"}
_SINCE_6 = {"fullDocumentBeforeChange", "showExpandedEvents"}
_KNOWN = {*_STARTS, *_OPTIONS, "allChangesForCluster"}
# A fragment carries its own token and numbers, which take some of the room.
_FRAGMENT_OVERHEAD_BYTES = 16 * 1024


@dataclass(frozen=True)
class _Result:
    """What an entry gives. `event` is None for an `invalidate` that the pipeline filters away: the
    stream ends there all the same."""

    event: Document | None
    token: Document
    size: int = 0
    is_end: bool = False
    looked_up_bytes: int = 0


@dataclass
class ChangeStream:
    """An open stream. `is_ended` after an `invalidate`, whether or not the client saw it."""

    oplog: History
    store: Store
    scope: Scope
    options: Options
    stages: Sequence[Stage]
    is_split: bool
    token_version: int
    max_event_bytes: int
    next_number: int
    # The token of the last event handed out, or what the stream was opened with.
    token: Document
    after: str
    high_water: str
    # An event that must come before any other, since the stream resumes behind it.
    expected: str | None
    ignores_invalidate: bool
    may_look_up: bool = True
    # What the images of one reply may weigh.
    most_memory_bytes: int | None = None
    is_ended: bool = False
    _pending: list[_Result] = field(default_factory=list)

    def batch(self, size: int) -> list[Document]:
        """Up to `size` events that are there now, of at most 16 MB where there are several. Raises
        what ends the stream."""
        if self.next_number < self.oplog.oldest_number:
            message = "CollectionScan died due to position in capped collection being deleted"
            raise CommandError(136, message)
        found: list[Document] = []
        bytes_used = memory_bytes = 0
        while len(found) < size and not self.is_ended:
            if not self._pending:
                if self.next_number >= self.oplog.majority_end:
                    self._raise_high_water()
                    break
                self._pending = list(self._events_of(self.next_number))
                self.next_number += 1
                continue
            result = self._pending[0]
            memory_bytes += result.looked_up_bytes
            if self.most_memory_bytes is not None and memory_bytes > self.most_memory_bytes:
                message = (
                    "PlanExecutor error during aggregation :: caused by :: Exceeded memory limit"
                )
                raise CommandError(146, message)
            bytes_used += result.size
            if found and bytes_used > MAX_DOCUMENT_BYTES:
                break
            del self._pending[0]
            if result.event is not None:
                found.append(result.event)
            self.token = result.token
            self.after = self.token["_data"]
            self.high_water = max(self.high_water, self.after)
            self.is_ended = result.is_end
        if self.is_ended:
            # The client starts after the `invalidate`.
            return found
        if not self._pending and self.next_number >= self.oplog.majority_end:
            self._raise_high_water()
        return found

    @property
    def has_update(self) -> bool:
        return bool(self._pending) or self.next_number < self.oplog.majority_end

    def post_batch_token(self) -> Document:
        return self.token if self.high_water == self.after else {"_data": self.high_water}

    def _raise_high_water(self) -> None:
        mark = high_water_mark(self.oplog.majority_time, self.token_version)
        self.high_water = max(self.high_water, mark)

    def _events_of(self, number: int) -> Iterator[_Result]:
        entry = self.oplog.entry(number)
        version = self.token_version
        found = events(entry, self.scope, self.options, self._look_up, version)
        # Over several shards the events of one time are in the order of their tokens.
        for event in sorted(found, key=lambda each: str(each["_id"]["_data"])):
            is_invalidate = event["operationType"] == "invalidate"
            token = event["_id"]["_data"]
            if is_invalidate and self.ignores_invalidate and token <= self.after:
                self._found(token)
                continue
            looked_up_bytes = _looked_up_bytes(event)
            shown = transformed(event, self.stages)
            if shown is None:
                if is_invalidate and token > self.after:
                    yield _Result(None, event["_id"], is_end=True)
                continue
            if shown.get("_id") != event["_id"]:
                message = (
                    "Encountered an event whose _id field, which contains the resume token, was "
                    "modified by the pipeline. Modifying the _id field of an event makes it "
                    "impossible to resume the stream from that point."
                )
                raise CommandError(280, message)
            parts = self._fragments(shown)
            self._check_fragment(token, [part["_id"]["_data"] for part, _ in parts])
            for part, size in parts:
                self._found(part["_id"]["_data"])
                if part["_id"]["_data"] > self.after:
                    yield _Result(part, part["_id"], size, is_invalidate, looked_up_bytes)

    def _found(self, token: str) -> None:
        """The event to resume after must appear before a later one."""
        if self.expected is not None and token >= self.expected:
            if token != self.expected:
                message = (
                    "cannot resume stream; the resume token was not found. "
                    f"{{_data: {self.expected!r}}}"
                )
                raise CommandError(280, message)
            self.expected = None

    def _check_fragment(self, token: str, parts: Sequence[str]) -> None:
        """The event to resume in must split as it did before."""
        expected = self.expected
        if expected is None or len(expected) == len(token):
            return
        if expected.startswith(token[:-2]) and expected not in parts:
            raise CommandError(
                280,
                "Attempted to resume from a split event fragment, but the event "
                "was not split at the same place.",
            )

    def _look_up(self, change: Change) -> Document | None:
        if not self.may_look_up:
            raise CommandError(13, DIRECT_IS_REFUSED)
        view = View(self.store, self.oplog.majority_time)
        collection = self.store.collection(change.namespace)
        if collection is None or collection.uuid != change.uuid:
            return None
        return view.document(change.namespace, change.place)

    def _fragments(self, event: Document) -> list[tuple[Document, int]]:
        size = len(encode(event))
        if size <= self.max_event_bytes:
            return [(event, size)]
        if not self.is_split:
            message = f"BSONObj size: {size} is invalid. Size must be between 0 and 16793600(16MB)"
            raise CommandError(10334, message)
        room = max(self.max_event_bytes - _FRAGMENT_OVERHEAD_BYTES, self.max_event_bytes // 2)
        parts: list[Document] = [{}]
        for name, value in event.items():
            if name == "_id":
                continue
            if parts[-1] and len(encode({**parts[-1], name: value})) > room:
                parts.append({})
            parts[-1][name] = value
        base = event["_id"]["_data"]
        fragments = [
            {
                "_id": {**event["_id"], "_data": _with_fragment(base, number)},
                **part,
                "splitEvent": {"fragment": number + 1, "of": len(parts)},
            }
            for number, part in enumerate(parts)
        ]
        return [(each, len(encode(each))) for each in fragments]


def _looked_up_bytes(event: Document) -> int:
    """The bytes of the images that the server read for an event."""
    names = ["fullDocumentBeforeChange"]
    if event["operationType"] == "update":
        names.append("fullDocument")
    return sum(len(encode(event[each])) for each in names if event.get(each) is not None)


def _with_fragment(token: str, number: int) -> str:
    """The token with a last field: KeyString of the number before the end mark."""
    return token[:-2] + order(number).hex().upper() + token[-2:]


def open_stream(
    oplog: History,
    store: Store,
    scope: Scope,
    pipeline: Sequence[Stage],
    *,
    release: Release,
    may_look_up: bool = True,
    max_event_bytes: int = MAX_DOCUMENT_BYTES,
    most_memory_bytes: int | None = None,
) -> ChangeStream:
    """The stream that an `aggregate` asks for. Raises 260, 280, 286 and errors of syntax."""
    argument: Mapping[str, Any] = pipeline[0]["$changeStream"]
    for name in argument:
        is_missing = name == "startAfter" and release.is_documentdb
        if is_missing or name not in _KNOWN or (name in _SINCE_6 and not release.has_images):
            raise CommandError(40415, f"BSON field '$changeStream.{name}' is an unknown field.")
    if argument.get("showExpandedEvents") and not release.enables_images:
        message = (
            "The 'featureFlagChangeStreamsVisibility' should be enabled to use "
            "'showExpandedEvents' in the change stream spec"
        )
        raise CommandError(6188501, message)
    stages = list(pipeline[1:])
    is_split = bool(stages) and stage_name(stages[-1]) == _SPLIT and release.splits_events
    if is_split:
        stages.pop()
    for stage in stages:
        if stage_name(stage) == _SPLIT and release.splits_events:
            raise CommandError(7182802, f"{_SPLIT} must be the last stage in the pipeline")
        if stage_name(stage) not in STREAM_STAGES | OTHER_STAGES:
            message = f"Unrecognized pipeline stage name: '{stage_name(stage)}'"
            raise CommandError(40324, message)
        if stage_name(stage) in OTHER_STAGES:
            message = f"{stage_name(stage)} is not permitted in a $changeStream pipeline"
            raise CommandError(20, message)
    start, position = _start(oplog, argument)
    if position is not None and scope.collection is not None and not position.is_of_collection:
        message = (
            "Attempted to resume a single-collection stream, but the resume token does not include "
            "a UUID."
        )
        raise CommandError(260, message)
    if position is not None and position.is_fragment and not is_split:
        message = f"To resume from a split event, the stream must include a {_SPLIT} stage"
        raise CommandError(280, message)
    # An oplog that still has its first entry lost nothing, however old the start is.
    if oplog.oldest_number > 0 and start < oplog.oldest_time:
        message = (
            "PlanExecutor error during aggregation :: caused by :: Resume of change stream was "
            "not possible, as the resume point may no longer be in the oplog."
        )
        raise CommandError(286, message)
    # A stream goes on in the version of the token that it was opened with.
    token_version = release.token_version if position is None else position.version
    token = {"_data": high_water_mark(start, token_version)} if position is None else position.token
    after = str(token["_data"])
    return ChangeStream(
        oplog=oplog,
        store=store,
        scope=scope,
        options=Options(
            argument.get("fullDocument", "default"),
            argument.get("fullDocumentBeforeChange", "off"),
            bool(argument.get("showExpandedEvents", False)),
            release,
        ),
        stages=stages,
        is_split=is_split,
        token_version=token_version,
        max_event_bytes=max_event_bytes,
        next_number=oplog.number_at(start),
        token=token,
        after=after,
        high_water=after,
        expected=after if position is not None and position.is_event else None,
        may_look_up=may_look_up,
        most_memory_bytes=most_memory_bytes if release.limits_memory else None,
        ignores_invalidate=position is not None and position.is_invalidate,
    )


def _start(oplog: History, argument: Mapping[str, Any]) -> tuple[Timestamp, Position | None]:
    given = [name for name in _STARTS if name in argument]
    if "resumeAfter" in given and "startAfter" in given:
        message = "Do not specify both 'resumeAfter' and 'startAfter' in a $changeStream stage"
        raise CommandError(50865, message)
    if len(given) > 1:
        message = "Only one type of resume option is allowed, but multiple were found."
        raise CommandError(40674, message)
    if not given:
        # Behind everything that is there, whether or not a majority has it yet.
        return next_time(oplog.time, oplog.time.time), None
    value = argument[given[0]]
    if given[0] == "startAtOperationTime":
        return value, None
    position = parse_token(value)
    if position.is_invalidate and given[0] == "resumeAfter":
        message = (
            "Attempting to resume a change stream using 'resumeAfter' is not allowed from an "
            "invalidate notification."
        )
        raise CommandError(260, message)
    return position.time, position
