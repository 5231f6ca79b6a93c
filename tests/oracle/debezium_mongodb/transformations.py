"""Transformations with random options, for Debezium's classes and for ours."""

from collections.abc import Mapping
from pathlib import Path
from random import Random

from mongo_agent.config.converters import OutboxConverter
from mongo_agent.config.event_router import EVENT_ROUTER as EVENT_ROUTER
from mongo_agent.config.model import MongoProperties
from mongo_agent.config.transforms import EXTRACT_DOCUMENT as EXTRACT_DOCUMENT
from mongo_agent.config.transforms import Transforms, transforms

Options = Mapping[str, str]
ADDITIONAL = (
    "kind:header",
    "number:header:n",
    "flag:header",
    "when:header",
    "half:header",
    "kind:envelope:of",
    "nested:envelope",
    "number:partition",
    "sometimes:header",
    "sometimes:envelope:maybe",
)

DELETES = ("drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone")
MEMBERS = (
    "op",
    "ts_ms:at",
    "source.ts_ms",
    "db",
    "collection",
    "source.ord:order",
    "wallTime",
    "lsid",
    "transaction.id",
    "total_order",
    "updateDescription.updatedFields",
    "snapshot",
    "connector",
)


def extract_document(random: Random) -> dict[str, str]:
    """Some options of ExtractNewDocumentState; the others have their defaults."""
    choices = {
        "array.encoding": random.choice(("array", "document")),
        "flatten.struct": random.choice(("true", "false")),
        "flatten.struct.delimiter": random.choice((".", "_", "-->")),
        "delete.tombstone.handling.mode": random.choice(DELETES),
        "delete.tombstone.handling.mode.rewrite-with-id": random.choice(("true", "false")),
        "add.fields": ",".join(random.sample(MEMBERS, random.randint(0, 5))),
        "add.fields.prefix": random.choice(("__", "meta.")),
        "add.headers": ",".join(random.sample(MEMBERS, random.randint(0, 5))),
        "add.headers.prefix": random.choice(("__", "")),
        "field.name.adjustment.mode": random.choice(("none", "none", "avro", "avro_unicode")),
    }
    chosen = {name: value for name, value in choices.items() if value and random.random() < 0.7}
    if "avro" in chosen.get("field.name.adjustment.mode", ""):
        # Names may become equal; such an event is rejected here, and not counted.
        for name in ("add.fields", "add.headers"):
            chosen[name] = ",".join(set(chosen.get(name, "").split(",")) - {"total_order"})
    return chosen


def event_router(random: Random) -> dict[str, str]:
    """Some options of MongoEventRouter for `typed_documents.outbox`."""
    placed = random.sample(ADDITIONAL, random.randint(0, len(ADDITIONAL)))
    choices = {
        "collection.field.event.id": random.choice(("_id", "number")),
        "collection.field.event.timestamp": "at",
        "collection.fields.additional.placement": ",".join(placed),
        "collection.field.additional.missing": random.choice(("error", "ignore")),
        "collection.expand.json.payload": random.choice(("true", "false")),
        "table.op.invalid.behavior": random.choice(("warn", "error", "fatal")),
        "route.by.field": random.choice(("aggregatetype", "kind")),
        "route.topic.regex": random.choice(("(?<routedByValue>.*)", "(o)(.*)")),
        "route.topic.replacement": random.choice(("$0.events", "x-${routedByValue}-y")),
        "route.tombstone.on.empty.payload": random.choice(("true", "false")),
    }
    chosen = {name: value for name, value in choices.items() if value and random.random() < 0.6}
    if "x-" in chosen.get("route.topic.replacement", ""):
        chosen.pop("route.topic.regex", None)
    elif "route.topic.regex" in chosen:
        chosen["route.topic.replacement"] = "$1.events"
    return {**chosen, "collection.field.event.key": random.choice(("aggregateid", "number"))}


def ours(
    options: Options, kind: str = EXTRACT_DOCUMENT, converter: OutboxConverter = "encoding"
) -> Transforms:
    """The transformation as the agent reads it from a file; `converter` converts the keys and
    values of an outbox."""
    if kind == EXTRACT_DOCUMENT:
        # Debezium omits them up to 3.6, against its documentation.
        options = {"removed.fields": "omit", **options}
    properties = MongoProperties(
        topic_prefix="t",
        hosts="rs0/h:1",
        offset_directory=Path("/o"),
        sink="stdout",
        transform_names=("t",),
        transform_options={f"t.{name}": value for name, value in {**options, "type": kind}.items()},
    )
    return transforms(properties, "debezium-3", key_converter=converter, value_converter=converter)
