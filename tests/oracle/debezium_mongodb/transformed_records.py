"""Transformed records of Debezium and of the agent in a common form."""

import json
from collections.abc import Iterator, Sequence
from itertools import chain, repeat, zip_longest
from typing import Any

from bson.raw_bson import RawBSONDocument

from mongo_agent.encoder import MongoBatch
from tests.oracle.debezium_mongodb.engines import PeerRecord

CLOCK = ("__ts_ms", "meta.ts_ms", "__at", "meta.at", "ts_ms", "at", "kafka.timestamp")
# For snapshots: Debezium's own clock and ranks, and its order without a stream position.
OF_SNAPSHOT = ("ts_ms", "snapshot", "ord", "order", "wallTime")


def of_events(events: Sequence[bytes], records: Sequence[PeerRecord]) -> Iterator[list[PeerRecord]]:
    """Records of each event, without those of transactions."""
    left = iter([each for each in records if not each.topic.endswith(".transaction")])
    for event in events:
        count = 2 if RawBSONDocument(event)["operationType"] == "delete" else 1
        yield [next(left) for _ in range(count)]
    assert next(left, None) is None


def may_be_rejected(cause: str) -> bool:
    """Debezium loses a field or an element of such an event."""
    return "twice" in cause or "several types" in cause


def typed(key: bytes | None, value: bytes | None) -> tuple[Any, Any]:
    """Key and value with their schemas, without the sender's clock and the numbers in a
    transaction: only Debezium counts rejected events."""
    found = None if value is None else json.loads(value)
    if found is not None and isinstance(found["payload"], dict):
        found["payload"] = {
            name: each
            for name, each in found["payload"].items()
            if name not in CLOCK and not name.endswith("total_order")
        }
    return json.loads(key or b"null"), found


def without_cached(found: tuple[Any, Any]) -> tuple[Any, Any]:
    """Without what Debezium takes from the first event with such a payload: the name of the schema
    of an envelope, and whether it has absent fields."""
    key, value = found
    if value is None or not str(value["schema"].get("name")).endswith(".Json"):
        return key, value
    payload = {name: each for name, each in value["payload"].items() if each is not None}
    fields = [each for each in value["schema"]["fields"] if each["field"] in payload]
    return key, {"schema": {**value["schema"], "name": "", "fields": fields}, "payload": payload}


def as_parsed(our: Any, their: Any) -> Any:
    """Ours with the schemas of Debezium, which parses keys and updated fields from JSON: there, a
    long that an int can hold is one."""
    if isinstance(our, dict) and isinstance(their, dict):
        if our.get("type") == "int64" and their.get("type") == "int32" and "name" not in our:
            our = {**our, "type": "int32"}
        return {name: as_parsed(each, their.get(name)) for name, each in our.items()}
    if isinstance(our, list) and isinstance(their, list):
        padded = chain(their, repeat(None))
        return [as_parsed(each, other) for each, other in zip(our, padded, strict=False)]
    return our


def theirs_typed(record: PeerRecord) -> tuple[Any, Any]:
    headers = dict(record.headers)
    return typed(headers["kafka.typed.key"], headers["kafka.typed.value"])


def without_null(found: tuple[Any, ...]) -> tuple[Any, ...]:
    """Whether Debezium has a member for an absent field depends on the documents before it."""
    topic, key, value, headers = found
    if isinstance(value, dict):
        more = ("maybe", "nested", "of")
        value = {name: each for name, each in value.items() if name not in more or each is not None}
    return topic, key, value, headers


def placements(batch: MongoBatch) -> Iterator[tuple[int, int | None]]:
    """Kafka's timestamp of each message, 0 for now; its partition unless derived from the key."""
    # So many partitions that no key's partition equals the number of a field.
    count = 2**31 - 1
    one = batch.produce_arguments(0, len(batch), lambda _: count, print)
    hashes = [each[4] for each in batch.messages(0, len(batch))]
    for arguments, key_hash in zip(one, hashes, strict=True):
        yield arguments[6], None if arguments[3] == key_hash % count else arguments[3]


def their_placement(record: PeerRecord, has_time: bool) -> tuple[int, int | None]:
    headers = dict(record.headers)
    partition = headers["kafka.partition"]
    time = int(headers["kafka.timestamp"] or 0) if has_time else 0
    return time, None if partition == b"null" else int(partition or 0)


def as_there(our: Any, their: Any) -> Any:
    """Our record without the data that Debezium loses: docs/reference/mongodb-event-format.md,
    section 13."""
    if isinstance(our, dict) and isinstance(their, dict):
        return {
            name: as_there(each, their.get(name))
            for name, each in our.items()
            # An empty array in an array, which becomes an object.
            if name in their or each not in ({}, None)
        }
    if isinstance(our, list | tuple) and isinstance(their, list | tuple):
        if len(our) > len(their):
            # Empty arrays in an array, or the fields of their objects.
            our = [each for each in our if each != [] and not is_empty_object(each)]
        pairs = zip_longest(our, their[: len(our)])
        return type(their)(
            None if has_no_type(each) and other is None else as_there(each, other)
            for each, other in pairs
        )
    # Seconds of a timestamp from 2038 on.
    is_negative = isinstance(our, int) and isinstance(their, int) and their < 0 < our
    return their if is_negative and our - their == 1000 << 32 else our


def is_empty_object(field: Any) -> bool:
    """Whether this is the schema field of objects without members."""
    return isinstance(field, dict) and field.get("type") == "struct" and not field["fields"]


def has_no_type(value: Any) -> bool:
    """Whether Debezium writes null for such a value between the documents of an array."""
    if isinstance(value, dict):
        return value.keys() in ({"regex", "options"}, {"code", "scope"})
    return value in ("MinKey", "MaxKey")


def is_of_document(event: bytes) -> bool:
    return RawBSONDocument(event)["operationType"] in ("insert", "update", "replace", "delete")


def shown(record: PeerRecord) -> tuple[Any, ...]:
    """Common content: everything except the sender's clock."""
    value = None if record.value is None else json.loads(record.value)
    if isinstance(value, dict):
        value = {name: each for name, each in value.items() if name not in CLOCK}
    headers = {
        name: each
        for name, each in record.headers
        if each is not None
        and name not in CLOCK
        and not name.startswith(("cdc.", "kafka.", "__debezium"))
    }
    return record.topic, json.loads(record.key or b"null"), value, headers


def without_snapshot(found: tuple[Any, ...]) -> tuple[Any, ...]:
    """Result of `shown`, without differences of snapshot documents."""
    topic, key, value, headers = found
    return topic, key, _without_snapshot(value), _without_snapshot(headers)


def _without_snapshot(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: each for name, each in value.items() if not name.endswith(OF_SNAPSHOT)}
