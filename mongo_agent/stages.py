"""The pipeline of a stream by the configuration: what the server leaves out already."""

from mongo_agent.capture import match_stage
from mongo_agent.capture.own_stages import Stage, ordered, read_stages
from mongo_agent.config import MongoConfig

INVALIDATE = "invalidate"
NATIVE_EVENTS = ("drop", "dropDatabase", INVALIDATE, "rename")
"""Events of no document that every server has."""
OTHER_EVENTS = (*NATIVE_EVENTS, "create", "createIndexes", "dropIndexes", "modify")
"""All that are asked for, some of them from MongoDB 6.0 on."""


def stages(config: MongoConfig) -> list[Stage]:
    """What stands behind `$changeStream`."""
    if config.copying.mode == "initial_only":
        return [{"$match": {"operationType": {"$in": []}}}]
    properties = config.properties
    own = [] if properties.cursor_pipeline is None else read_stages(properties.cursor_pipeline)
    return ordered(_internal(config), own, properties.cursor_pipeline_order)


def signal_collection(config: MongoConfig) -> str | None:
    """The collection whose inserts are signals, where that channel is open."""
    properties = config.properties
    return properties.signal_collection if "source" in properties.signal_channels else None


def _internal(config: MongoConfig) -> list[Stage]:
    stage = match_stage(config.namespaces, config.operations, _others(config))
    collection = signal_collection(config)
    if collection is None:
        return [stage]
    database, _, name = collection.partition(".")
    signals = {"operationType": "insert", "ns.db": database, "ns.coll": name}
    return [{"$match": {"$or": [stage["$match"], signals]}}]


def _others(config: MongoConfig) -> tuple[str, ...]:
    """Events of no document that are published, besides the one that ends a stream."""
    properties = config.properties
    if properties.schema_changes_topic is not None:
        return OTHER_EVENTS
    return NATIVE_EVENTS if properties.event_layout == "mongodb" else (INVALIDATE,)
