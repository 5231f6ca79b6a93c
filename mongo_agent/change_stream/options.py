"""Change stream options, their support by a server, and handling of events larger than 16 MB.

The limit applies to BSON, and a server converts an event to BSON after all stages of a stream.
https://www.mongodb.com/docs/manual/reference/operator/aggregation/changeStreamSplitLargeEvent/
https://www.mongodb.com/docs/manual/reference/operator/aggregation/bsonSize/

The agent probes for `startAfter`: Amazon DocumentDB reports a release that should support it, but
rejects it as an unknown field. The probe sends an empty token; a server with `startAfter` rejects
only the token. It probes for expanded events, because during an upgrade from 5.0 the feature
compatibility version of MongoDB 6.0 withholds them and the images.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from pymongo.errors import OperationFailure, PyMongoError

from mongo_agent.capture.namespaces import Scope
from mongo_agent.server.commands import Client, decode_replies, run_command
from mongo_agent.server.errors import server_error
from mongo_agent.server.releases import (
    EXPANDED_EVENTS,
    LargeEvents,
    Version,
    large_events_of,
    may_restrict_features,
)

OversizePolicy = Literal["fail", "skip", "split"]

MOST_BYTES = 16 << 20
_MEMBERS = ("fullDocument", "fullDocumentBeforeChange", "updateDescription", "documentKey")
_SHORT_EVENT: Mapping[str, Any] = {
    **{name: f"${name}" for name in ("_id", "operationType", "clusterTime", "ns")},
    "splitEvent": {"$literal": {"fragment": 1, "of": 1}},
}
BARE_STAGE: Mapping[str, Any] = {"$replaceRoot": {"newRoot": _SHORT_EVENT}}
"""A stage that leaves out the members of each event and marks it as one part of one."""
_UNKNOWN_FIELD = 40415
_NOT_ENABLED = 6188501
_NAME = "startAfter"


def can_read(mode: OversizePolicy, server: LargeEvents) -> bool:
    """Whether a stream with `large_event_stage` continues after a large event."""
    return (mode == "skip" and server != "none") or (mode == "split" and server == "split")


def large_event_stage(server: LargeEvents) -> Mapping[str, Any]:
    """Build the last stage of a stream that contains a large event.

    On a server that cannot split events, the stage removes the large members and marks the event as
    part 1 of 1. The agent then skips, counts and logs it.
    """
    if server == "split":
        return {"$changeStreamSplitLargeEvent": {}}
    nothing: Mapping[str, Any] = {"$literal": {}}
    sizes = [{"$bsonSize": {"$ifNull": [f"${name}", nothing]}} for name in _MEMBERS]
    is_large = {"$gt": [{"$add": sizes}, MOST_BYTES]}
    shortened = {"$cond": {"if": is_large, "then": _SHORT_EVENT, "else": "$$ROOT"}}
    return {"$replaceRoot": {"newRoot": shortened}}


def remedy_of(mode: OversizePolicy, server: LargeEvents) -> str:
    """Return the remedy for an event that is too large, given `mode` and the server."""
    without = (
        "Exclude the collection, or remove large fields in a stage of `cursor.pipeline`, such as "
        '`[{"$unset": "fullDocument.text"}]`'
    )
    if can_read(mode, server):
        return f"{without}."
    if server == "split":
        return "Set `cursor.oversize.handling.mode=split` to read such events in parts."
    newer = "Use MongoDB 6.0.9 or 7.0 or later, which sends such events in parts"
    if server == "measure":
        skip = "set `cursor.oversize.handling.mode=skip` to skip, count and log them"
        return f"{newer}, or {skip}. {without} to read the other fields."
    return f"{newer}. {without}."


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """Options of `$changeStream` and of its cursor.

    `full_document` and `full_document_before` are values of the server's options. `batch_size`
    counts events; 0 means the server's default. `await_ms` limits how long the server waits for an
    event. Without `has_start_after`, streams resume with `resumeAfter`. `is_restricted` is true if
    the server's feature compatibility version withholds images and expanded events. `large_events`
    states how the server can handle events above 16 MB.
    """

    full_document: str = "updateLookup"
    full_document_before: str = "off"
    shows_expanded_events: bool = False
    batch_size: int = 0
    await_ms: int = 1000
    has_start_after: bool = True
    is_restricted: bool = False
    large_events: LargeEvents = "split"


def detect_options(
    client: Client, scope: Scope, options: StreamOptions, version: Version
) -> StreamOptions:
    """Adapt the options to the server's release and to its support for `startAfter`.

    Ignores other errors that the server reports, because they recur when the stream opens. Raises
    an error of `server_error` if the server does not reply.
    """
    options = replace(options, large_events=large_events_of(version))
    error = _probe(client, scope, {_NAME: {}})
    if error is not None and error.code == _UNKNOWN_FIELD and _NAME in str(error):
        options = replace(options, has_start_after=False, large_events="none")
    elif may_restrict_features(version):
        error = _probe(client, scope, {"showExpandedEvents": True})
        is_restricted = error is not None and error.code == _NOT_ENABLED
        options = replace(options, is_restricted=is_restricted)
    if version < EXPANDED_EVENTS or options.is_restricted:
        options = replace(options, shows_expanded_events=False)
    return options


def _probe(client: Client, scope: Scope, stage: Mapping[str, Any]) -> OperationFailure | None:
    """Open and close a stream with the stage; return the server's error, or None."""
    cluster = {"allChangesForCluster": True} if scope.database is None else {}
    pipeline = [{"$changeStream": {**stage, **cluster}}]
    command = {"aggregate": scope.collection or 1, "pipeline": pipeline, "cursor": {"batchSize": 0}}
    database = scope.database or "admin"
    try:
        with decode_replies():
            cursor = run_command(client, command, database)["cursor"]
            name = cursor["ns"].partition(".")[2]
            run_command(client, {"killCursors": name, "cursors": [cursor["id"]]}, database)
    except OperationFailure as error:
        return error
    except PyMongoError as error:
        raise server_error(error) from error
    return None
