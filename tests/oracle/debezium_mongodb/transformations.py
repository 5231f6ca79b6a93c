"""Transformations with random options, for Debezium's classes and for ours."""

from collections.abc import Mapping
from pathlib import Path
from random import Random

from mongo_agent.config.model import MongoProperties
from mongo_agent.config.transforms import EXTRACT_DOCUMENT as EXTRACT_DOCUMENT
from mongo_agent.config.transforms import Transforms, transforms

Options = Mapping[str, str]

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
    """Some options of ExtractNewDocumentState; others have their defaults."""
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


def ours(options: Options, kind: str = EXTRACT_DOCUMENT) -> Transforms:
    """The transformation as the agent reads it from a file."""
    properties = MongoProperties(
        topic_prefix="t",
        hosts="rs0/h:1",
        offset_directory=Path("/o"),
        sink="stdout",
        transform_names=("t",),
        transform_options={f"t.{name}": value for name, value in {**options, "type": kind}.items()},
    )
    return transforms(properties, "debezium-3")
