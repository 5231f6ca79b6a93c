"""Options of Debezium's MongoEventRouter."""

from typing import Literal

from mongo_agent.config.converters import OutboxConverter
from mongo_agent.config.values import OptionReader
from mongo_agent.encoder import MongoTransform
from mongo_agent.topic_naming import regex_naming

EVENT_ROUTER = "io.debezium.connector.mongodb.transforms.outbox.MongoEventRouter"

_Placement = Literal["header", "envelope", "partition"]
_PLACEMENTS: tuple[_Placement, ...] = ("header", "envelope", "partition")
_PLACEMENT = "collection.fields.additional.placement"
_MOST_PARTS = 3


def event_router(
    reader: OptionReader, key_converter: OutboxConverter, value_converter: OutboxConverter
) -> MongoTransform | None:
    """Create the transformation from its options; return None if they have problems."""
    key = reader.text("collection.field.event.key")
    if not key:
        reader.reject("collection.field.event.key", "must be set: messages need a key")
    for name in ("collection.field.event.type", "collection.field.event.schema.version"):
        if reader.text(name) is not None:
            reader.warn(name, "has no effect: message schemas have no type and version")
    for name in ("tracing.span.context.field", "tracing.operation.name"):
        if reader.text(name) is not None:
            reader.warn(name, "has no effect: the agent does not support tracing")
    reader.text("tracing.with.context.field.only")
    # Debezium's manual documents the first name, but the class reads the second.
    behaviors = [
        reader.choice(f"{prefix}.op.invalid.behavior", ("warn", "error", "fatal"), "warn")
        for prefix in ("collection", "table")
    ]
    missing = reader.choice("collection.field.additional.missing", ("error", "ignore"), "error")
    # Debezium 3.7 documents these names for the same option.
    is_required = [
        reader.flag(f"{prefix}.fields.additional.error.on.missing", True)
        for prefix in ("collection", "table")
    ]
    regex = reader.text("route.topic.regex", "(?<routedByValue>.*)")
    replacement = reader.text("route.topic.replacement", "outbox.event.${routedByValue}")
    additional = [
        placed for text in reader.list(_PLACEMENT) if (placed := _placed(reader, text)) is not None
    ]
    if value_converter in ("string", "bytes") and "envelope" in (each[1] for each in additional):
        reader.reject(
            _PLACEMENT,
            "has the placement `envelope`, but `value.converter` writes only the payload. Use "
            "`header`, or JsonConverter",
        )
    try:
        naming = regex_naming(regex, replacement)
    except ValueError as error:
        reader.reject("route.topic.regex", f"and `route.topic.replacement` cannot be used: {error}")
        return None
    if naming.pattern.warning is not None:
        reader.warn("route.topic.regex", naming.pattern.warning)
    return MongoTransform.event_router(
        id=reader.text("collection.field.event.id", "_id"),
        key=key or "",
        payload=reader.text("collection.field.event.payload", "payload"),
        timestamp=reader.text("collection.field.event.timestamp") or None,
        route_by=reader.text("route.by.field", "aggregatetype"),
        expands_payload=reader.flag("collection.expand.json.payload", False),
        tombstones=reader.flag("route.tombstone.on.empty.payload", False),
        rejects_updates="fatal" in behaviors,
        additional=additional,
        ignores_missing=missing == "ignore" or not all(is_required),
        key_converter=key_converter,
        value_converter=value_converter,
        topic_of=naming.name,
    )


def _placed(reader: OptionReader, text: str) -> tuple[str, _Placement, str] | None:
    parts = [part.strip() for part in text.split(":")]
    if not 1 < len(parts) <= _MOST_PARTS or not all(parts):
        reader.reject(_PLACEMENT, f"has `{text}`, which is not `field:placement[:alias]`")
        return None
    placement = next((each for each in _PLACEMENTS if each == parts[1].lower()), None)
    if placement is None:
        reader.reject(
            _PLACEMENT, f"has the placement `{parts[1]}`; it must be header, envelope or partition"
        )
        return None
    return parts[0], placement, parts[-1] if len(parts) == _MOST_PARTS else parts[0]
