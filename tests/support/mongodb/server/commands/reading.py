"""`find`, `aggregate`, `count`, `distinct`, and the cursors behind them."""

from collections.abc import Iterator
from decimal import ROUND_FLOOR, Decimal
from hashlib import sha256
from typing import Any

from bson import Binary, Decimal128, Int64, MaxKey
from bson.binary import UUID_SUBTYPE

from tests.support.mongodb.server.change_events import INTERNAL_DATABASES, Scope
from tests.support.mongodb.server.change_streams import open_stream
from tests.support.mongodb.server.commands.batches import FIRST_BATCH, cursor_reply, is_over, taken
from tests.support.mongodb.server.commands.command import Command
from tests.support.mongodb.server.commands.shards import config_documents
from tests.support.mongodb.server.context import Context
from tests.support.mongodb.server.direct import may_ask_directly
from tests.support.mongodb.server.errors import CommandError
from tests.support.mongodb.server.key_string import order
from tests.support.mongodb.server.matching import check_query, is_match, values_at
from tests.support.mongodb.server.members import Cursor
from tests.support.mongodb.server.oplog import Entry, Namespace
from tests.support.mongodb.server.pipelines import Stage, aggregated
from tests.support.mongodb.server.store import NEWEST, Ids
from tests.support.mongodb.server.wire import Document

_OPERATIONS = {"insert": "i", "update": "u", "replace": "u", "delete": "d"}
_MANY = 2**31
_WHOLE = Decimal(1)
# The server's, when a `getMore` names no time.
_AWAIT_S = 1.0


def _find(context: Context) -> Document:
    body = context.body
    namespace = context.namespace
    stages: list[Stage] = [{"$match": body.get("filter", {})}]
    code = 51024 if context.deployment.topology.release.has_strict_commands else 2
    for name in ("skip", "limit"):
        if body.get(name, 0) < 0:
            message = f"BSON field '{name}' value must be >= 0, actual value '{body[name]}'"
            raise CommandError(code, message)
    for name, value in (
        ("$sort", None if _is_by_id(context) else body.get("sort")),
        ("$skip", body.get("skip")),
        ("$limit", body.get("limit")),
        ("$project", body.get("projection")),
    ):
        if value:
            stages.append({name: value})
    check_query(body.get("filter", {}))
    _refuse_without_history(context, namespace)
    documents = _bounded(context, _documents(context, namespace))
    is_sorted = body.get("sort") or "$natural" in (body.get("hint") or {})
    if context.deployment.is_router or not is_sorted:
        documents = _arriving(context, documents)
    found = list(aggregated(documents, stages))
    if context.deployment.rounds_decimals and body.get("projection") == {"_id": 1}:
        found = [{"_id": _rounded(each["_id"])} for each in found]
    size = body.get("batchSize", FIRST_BATCH)
    is_limited = body.get("limit") == len(found)
    return cursor_reply(
        context,
        namespace,
        found,
        size,
        is_single=bool(body.get("singleBatch")),
        has_known_end=is_limited or context.collection(namespace) is None,
    )


def _rounded(value: Any) -> Any:
    is_decimal = isinstance(value, Decimal128) and value.to_decimal().is_finite()
    return Decimal128(value.to_decimal().quantize(_WHOLE, ROUND_FLOOR)) if is_decimal else value


def _arriving(context: Context, documents: Iterator[Document]) -> Iterator[Document]:
    """Documents in any order, which a router makes of answers of its shards, and which a capped
    collection alone does not have."""
    collection = context.collection(context.namespace)
    has_order = context.database == "local" or (collection and collection.options.get("capped"))
    return documents if has_order else iter(context.deployment.in_any_order(documents))


def _is_by_id(context: Context) -> bool:
    """Whether the index of `_id`, which follows the collation, gives the wanted order."""
    topology = context.deployment.topology
    has_index = not topology.release.is_documentdb and not context.deployment.is_router
    by_id = context.body.get("hint") in ("_id_", {"_id": 1})
    return has_index and by_id and context.body.get("sort") == {"_id": 1}


def _documents(context: Context, namespace: Namespace) -> Iterator[Document]:
    if namespace == ("local", "oplog.rs"):
        term = Int64(context.deployment.topology.term)
        return iter([_oplog_document(entry, term) for entry in context.history.entries()])
    router = context.deployment if context.deployment.is_router else context.deployment.router
    if router is not None and namespace[0] == "config":
        return config_documents(router, namespace[1])
    shard = context.deployment.shard
    if namespace == ("admin", "system.version") and shard is not None:
        return iter([{"_id": "shardIdentity", "shardName": f"shard{shard}"}])
    return context.view().documents(namespace)


def _oplog_document(entry: Entry, term: Int64) -> Document:
    """Where it stands and what it is of. What it changes is nobody's business."""
    name = ".".join(entry.changes[0].namespace) if entry.changes else ""
    operation = "n"
    if entry.transaction is not None:
        operation, name = "c", "admin.$cmd"
    elif entry.changes:
        operation = _OPERATIONS.get(entry.changes[0].operation, "c")
    times = {"ts": entry.time, "t": term, "v": Int64(2), "wall": entry.wall_time}
    return {"op": operation, "ns": name, "o": {}, **times}


def _refuse_without_history(context: Context, namespace: Namespace) -> None:
    """Documents that a capped collection evicts have no history, and a collection no earlier one
    than its last resharding."""
    collection, concern = context.collection(namespace), context.body.get("readConcern", {})
    if collection is None or concern.get("level") != "snapshot":
        return
    if concern.get("atClusterTime", NEWEST) < collection.since:
        message = "Unable to read from a snapshot due to pending collection catalog changes"
        raise CommandError(246, message)
    if collection.options.get("capped"):
        message = "Reading from capped collections with readConcern snapshot is not supported"
        raise CommandError(246, message)


def _bounded(context: Context, documents: Iterator[Document]) -> Iterator[Document]:
    """`min` (inclusive) and `max` (exclusive) over an index, in its order: that of the collation
    that the collection has."""
    body = context.body
    if context.deployment.topology.release.is_documentdb:
        # Whether the service applies `min` and `max` is not known, so no client may rely on them.
        return documents
    bounds = {name: body[name] for name in ("min", "max") if body.get(name)}
    hint = body.get("hint")
    if hint is None:
        if not bounds:
            return documents
        raise CommandError(
            51173, "When using min()/max() a hint of which index to use must be provided"
        )
    if hint not in ("_id_", {"_id": 1}, _clustered_index(context)):
        _check_hint(context, hint)
        return documents
    if any(list(bound) != ["_id"] for bound in bounds.values()):
        raise CommandError(51174, "The index chosen is not compatible with min/max")
    low, high = body.get("min"), body.get("max")
    if low and not high:
        # The end of an index range is exclusive, so a range without one leaves MaxKey out.
        high = {"_id": MaxKey()}
    collection = context.collection(context.namespace)
    place = (Ids() if collection is None else collection.ids()).place
    if low and high and place(low) >= place(high):
        raise CommandError(51175, "max() must be greater than min()")
    return context.view().documents_by_id(context.namespace, low, high)


def _check_hint(context: Context, hint: Any) -> None:
    collection = context.collection(context.namespace)
    if collection is None or hint in ({"$natural": 1}, {"$natural": -1}):
        return
    known = [each for name, index in collection.indexes.items() for each in (name, index["key"])]
    if hint not in known:
        message = "hint provided does not correspond to an existing index"
        raise CommandError(2, f"error processing query: planner returned error: {message}")


def _clustered_index(context: Context) -> str:
    """The name of the index by which a clustered collection is stored; empty for others."""
    collection = context.collection(context.namespace)
    clustered = {} if collection is None else collection.options.get("clusteredIndex", {})
    return str(clustered.get("name", ""))


def _aggregate(context: Context) -> Document:
    body = context.body
    pipeline: list[Stage] = body["pipeline"]
    if "cursor" not in body:
        message = "The 'cursor' option is required, except for aggregate with the explain argument"
        raise CommandError(9, message)
    size = body["cursor"].get("batchSize", FIRST_BATCH)
    if pipeline and "$changeStream" in pipeline[0]:
        return _open_stream(context, pipeline, size)
    if pipeline and "$listChangeStreams" in pipeline[0]:
        names = sorted(context.deployment.stream_namespaces)
        listed = [{"database": database, "collection": name} for database, name in names]
        return cursor_reply(context, ("admin", "$cmd.aggregate"), listed, size)
    if any("$changeStreamSplitLargeEvent" in stage for stage in pipeline):
        message = "$changeStreamSplitLargeEvent can only be used in a $changeStream pipeline"
        raise CommandError(20, message)
    if pipeline and "$listLocalSessions" in pipeline[0]:
        sessions = aggregated(_local_sessions(context), pipeline[1:])
        namespace = (context.database, "$cmd.aggregate")
        return cursor_reply(context, namespace, list(sessions), size)
    namespace = context.namespace
    documents = _arriving(context, _documents(context, namespace))
    found = list(aggregated(documents, pipeline))
    return cursor_reply(context, namespace, found, size)


def _local_sessions(context: Context) -> Iterator[Document]:
    if "lsid" in context.body:
        context.deployment.session(context.body["lsid"])
    user = Binary(sha256().digest())
    for name in context.deployment.sessions:
        yield {"_id": {"id": Binary(name, UUID_SUBTYPE), "uid": user}}


def _open_stream(context: Context, pipeline: list[Stage], size: int) -> Document:
    deployment = context.deployment
    if deployment.topology.is_standalone:
        raise CommandError(40573, "The $changeStream stage is only supported on replica sets")
    target, argument = context.body["aggregate"], pipeline[0]["$changeStream"]
    if not isinstance(argument, dict):
        raise CommandError(50808, "$changeStream stage expects a document as argument")
    is_whole = bool(argument.get("allChangesForCluster"))
    if is_whole and (context.database != "admin" or isinstance(target, str)):
        message = "A $changeStream with 'allChangesForCluster:true' may only be opened on"
        raise CommandError(72, f"{message} the 'admin' database, and with no collection name")
    names = (context.database, target if isinstance(target, str) else "")
    if not is_whole and (names[0] in INTERNAL_DATABASES or names[1].startswith("system.")):
        message = f"$changeStream may not be opened on the internal {'.'.join(names)}"
        raise CommandError(73, message)
    collection = context.collection(names)
    if collection is not None and collection.is_view:
        raise CommandError(166, f"Namespace {'.'.join(names)} is a view, not a collection")
    database = None if is_whole else context.database
    stream = open_stream(
        context.history,
        deployment.store,
        Scope(database, target if isinstance(target, str) else None, deployment.has_streams),
        pipeline,
        release=deployment.topology.release,
        max_event_bytes=deployment.max_event_bytes,
        most_memory_bytes=deployment.most_memory_bytes,
        may_look_up=may_ask_directly(context),
    )
    name = target if isinstance(target, str) else "$cmd.aggregate"
    cursor = Cursor(f"{context.database}.{name}", stream)
    batch = stream.batch(size)
    number = Int64(0) if stream.is_ended else context.member.keep(cursor)
    token = stream.post_batch_token()
    found = {"firstBatch": batch, "postBatchResumeToken": token}
    return {"cursor": {"id": number, "ns": cursor.namespace, **found}}


def _cursor_number(value: Any, field: str) -> int:
    """The id of a cursor; a client may repeat one of another type that it was sent."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise CommandError(14, f"BSON field '{field}' is the wrong type, expected type 'long'")


def _get_more(context: Context) -> Document:
    body = context.body
    number = _cursor_number(body["getMore"], "getMore.getMore")
    cursor = context.member.cursors.get(number)
    if cursor is None or cursor.namespace != f"{context.database}.{body['collection']}":
        raise CommandError(43, f"cursor id {number} not found")
    context.is_on_stream = cursor.stream is not None
    size = body.get("batchSize") or _MANY
    if cursor.stream is None:
        batch = taken(cursor.documents, size)
        if is_over(cursor, batch, size):
            del context.member.cursors[number]
            number = 0
        extra = {} if cursor.at_cluster_time is None else {"atClusterTime": cursor.at_cluster_time}
        found: Document = {"nextBatch": batch, **extra}
        return {"cursor": {"id": Int64(number), "ns": cursor.namespace, **found}}
    try:
        batch = _awaited(context, cursor, number, size)
    except CommandError:
        context.member.cursors.pop(number, None)
        raise
    if cursor.stream.is_ended:
        context.member.cursors.pop(number, None)
        number = 0
    token = cursor.stream.post_batch_token()
    found = {"nextBatch": batch, "postBatchResumeToken": token}
    return {"cursor": {"id": Int64(number), "ns": cursor.namespace, **found}}


def _awaited(context: Context, cursor: Cursor, number: int, size: int) -> list[Document]:
    """Events when there are some, none when the time is over."""
    stream = cursor.stream
    assert stream is not None
    batch = stream.batch(size)
    timeout_s = context.body.get("maxTimeMS", _AWAIT_S * 1000) / 1000

    def has_events() -> bool:
        if number not in context.member.cursors:
            raise CommandError(237, f"operation was interrupted: cursor {number} was killed")
        if stream.has_update:
            batch.extend(stream.batch(size))
        return bool(batch) or stream.is_ended

    if not batch and not stream.is_ended:
        context.wait(has_events, timeout_s)
    return batch


def _kill_cursors(context: Context) -> Document:
    killed: list[int] = []
    unknown: list[int] = []
    for value in context.body["cursors"]:
        number = _cursor_number(value, "killCursors.cursors")
        found = context.member.cursors.pop(number, None)
        (unknown if found is None else killed).append(number)
    context.deployment.changed.notify_all()
    return {
        "cursorsKilled": killed,
        "cursorsNotFound": unknown,
        "cursorsAlive": [],
        "cursorsUnknown": [],
    }


def _count(context: Context) -> Document:
    query = context.body.get("query", {})
    return {"n": sum(is_match(query, each) for each in _documents(context, context.namespace))}


def _distinct(context: Context) -> Document:
    found: dict[bytes, Any] = {}
    for document in _documents(context, context.namespace):
        if is_match(context.body.get("query", {}), document):
            for value in values_at(document, context.body["key"]):
                for each in value if isinstance(value, list) else [value]:
                    found.setdefault(order(each), each)
    extra = {} if context.read_at is None else {"atClusterTime": context.read_at}
    return {"values": [found[key] for key in sorted(found)], **extra}


def _explain(context: Context) -> Document:
    """A plan without figures: every read here looks at the whole collection."""
    explained: Document = context.body["explain"]
    namespace = f"{context.database}.{explained[next(iter(explained))]}"
    plan: Document = {"stage": "COLLSCAN", "direction": "forward"}
    return {"queryPlanner": {"namespace": namespace, "winningPlan": plan, "rejectedPlans": []}}


COMMANDS = {
    "find": Command(_find, "find", is_read=True),
    "aggregate": Command(_aggregate, "find", is_read=True),
    "getMore": Command(_get_more),
    "killCursors": Command(_kill_cursors),
    "count": Command(_count, "find", is_read=True),
    "explain": Command(_explain, "find", is_read=True),
    "distinct": Command(_distinct, "find", is_read=True),
}
