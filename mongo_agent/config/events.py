"""Properties of topics and events."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator

from sidecar.properties.model import Properties, prop
from sidecar.properties.topic_names import LONGEST_TOPIC, TopicPrefix
from sidecar.properties.types import CommaList, LowerCase, Milliseconds

_TOPIC = re.compile(r"[A-Za-z0-9._-]*")
_NAME_REFERENCE = "${database.server.name}"
_PACKAGE = "io.debezium.schema."
_REPLACING = "DefaultRegexTopicNamingStrategy"
_STRATEGIES = ("DefaultTopicNamingStrategy", "DefaultUnicodeTopicNamingStrategy", _REPLACING)
_FEWEST_PARTS = 3
"""Of a path: database, collection and field."""


def _topic_part(value: str) -> str:
    if len(value) > LONGEST_TOPIC:
        raise ValueError(
            f"must be at most {LONGEST_TOPIC} characters, Kafka's limit; it has {len(value)}"
        )
    if not _TOPIC.fullmatch(value.replace(_NAME_REFERENCE, "")):
        raise ValueError(
            "must have only letters, digits, `.`, `_` and `-`, as Kafka requires of topics"
        )
    return value


def _strategy(value: str) -> str:
    """The name of Debezium's class without the package."""
    name = value.strip().removeprefix(_PACKAGE)
    if name in _STRATEGIES:
        return name
    if name.startswith("Schema"):
        raise ValueError(
            "puts all collections into one topic, where documents with the same `_id` replace each "
            "other; `DefaultRegexTopicNamingStrategy` selects the collections that share one"
        )
    raise ValueError(f"loads a class; it must be one of {', '.join(_STRATEGIES)}")


def _path_problem(path: str) -> str | None:
    parts = path.split(".")
    if len(parts) < _FEWEST_PARTS or not all(parts):
        return "is not of the form `database.collection.field`"
    if any("*" in part for part in parts[2:]):
        return "has a `*` in a field name; only database and collection names may contain one"
    return None


def _exclusions(values: tuple[str, ...]) -> tuple[str, ...]:
    for entry in values:
        problem = _path_problem(entry)
        if problem is not None:
            raise ValueError(f"must be a list of fields; `{entry}` {problem}")
    return values


def _renamings(values: tuple[str, ...]) -> tuple[str, ...]:
    for entry in values:
        path, colon, name = entry.rpartition(":")
        problem = _path_problem(path) if colon else "has no `:` followed by a new name"
        if problem is None and (not name or "." in name):
            problem = "needs one name without dots after the `:`"
        if problem is None and name == path.rpartition(".")[2]:
            problem = "renames the field to its own name"
        if problem is not None:
            raise ValueError(
                f"must be a list of renames `database.collection.field:name`; `{entry}` {problem}"
            )
    return values


TopicPart = Annotated[str, AfterValidator(_topic_part)]
FieldList = Annotated[CommaList, AfterValidator(_exclusions)]
RenamingList = Annotated[CommaList, AfterValidator(_renamings)]


class EventProperties(Properties):
    topic_prefix: TopicPrefix = prop(
        "topic.prefix",
        aliases=["mongodb.name"],
        doc="First part of every topic name: `<topic.prefix>.<database>.<collection>`. The agent "
        "stores it with the offset and rejects a start with another prefix.",
        min_length=1,
    )
    topic_delimiter: TopicPart = prop(
        "topic.delimiter",
        default=".",
        min_length=1,
        doc="Separator between the parts of a topic name.",
    )
    topic_naming_strategy: Annotated[str, AfterValidator(_strategy)] = prop(
        "topic.naming.strategy",
        default=_STRATEGIES[0],
        doc="Naming of collection topics, with or without the package of Debezium's class. "
        "`DefaultTopicNamingStrategy`: as in `topic.prefix`, with `_` for each character that "
        "Kafka rejects. `DefaultUnicodeTopicNamingStrategy`: `_u` and the code for each of these "
        "and for `_`, so that different names stay different. `DefaultRegexTopicNamingStrategy`: "
        "`topic.regex` and `topic.replacement` applied to the default name.",
    )
    topic_regex: str | None = prop(
        "topic.regex",
        has_placeholders=True,
        default=None,
        min_length=1,
        doc="Regular expression of `DefaultRegexTopicNamingStrategy`, matched against the whole "
        "name; other names stay unchanged.",
    )
    topic_replacement: str | None = prop(
        "topic.replacement",
        has_placeholders=True,
        default=None,
        min_length=1,
        doc="Replacement for names that match `topic.regex`, with `$1` or `${name}` for its "
        "groups.",
    )
    event_layout: Annotated[
        Literal["debezium-3", "debezium-2.1", "debezium-1.x", "mongodb"], LowerCase
    ] = prop(
        "event.layout",
        default="debezium-3",
        doc="Layout of values: that of a Debezium release line, or MongoDB's own change event "
        "(`mongodb`). Keys are equal in all layouts.",
    )
    source_struct_version: Annotated[Literal["v1", "v2"], LowerCase] = prop(
        "source.struct.version",
        default="v2",
        doc="`v1`: the `source` of releases before Debezium 0.10, which 1.x still writes; only "
        "with `event.layout=debezium-1.x`.",
    )
    json_serialization_mode: Annotated[
        Literal["legacy", "strict", "extended", "relaxed"], LowerCase
    ] = prop(
        "json.serialization.mode",
        default="legacy",
        doc="Extended JSON form of documents in values; docs/reference/mongodb-event-format.md "
        "describes the forms.",
    )
    tombstones_on_delete: bool = prop(
        "tombstones.on.delete",
        default=True,
        doc="Whether a tombstone follows each delete, so that a compacted topic removes the "
        "document.",
    )
    field_exclude_list: FieldList = prop(
        "field.exclude.list",
        aliases=["field.blacklist"],
        default=(),
        doc="Fields to remove: `database.collection.field.nested`; `*` matches any text in the "
        "names of database and collection.",
    )
    field_renames: RenamingList = prop(
        "field.renames",
        default=(),
        doc="Fields to rename, applied in order: `database.collection.field.nested:name`.",
    )
    provide_transaction_metadata: bool = prop(
        "provide.transaction.metadata",
        default=False,
        doc="Whether events name their transaction, and the agent publishes the beginning and end "
        "of each transaction.",
    )
    topic_transaction: TopicPart = prop(
        "topic.transaction",
        default="transaction",
        min_length=1,
        doc="Last part of the topic for transaction boundaries: "
        "`<topic.prefix>.<topic.transaction>`.",
    )
    transaction_topic: TopicPart | None = prop(
        "transaction.topic",
        has_placeholders=True,
        default=None,
        min_length=1,
        doc="Full name of the topic for transaction boundaries; overrides `topic.transaction`. "
        "`${database.server.name}` in it stands for `topic.prefix`.",
    )
    schema_changes_topic: TopicPart | None = prop(
        "topic.schema.changes",
        default=None,
        min_length=1,
        doc="Topic for changes of collections and databases: rename, drop, and from MongoDB 6.0 on "
        "create, indexes, options. Not set: the agent counts them and does not publish them.",
    )
    heartbeat_interval_ms: Milliseconds = prop(
        "heartbeat.interval.ms",
        default=0,
        doc="Interval between heartbeat messages; 0: none. Offsets advance without them.",
    )
    heartbeat_prefix: TopicPart = prop(
        "topic.heartbeat.prefix",
        aliases=["heartbeat.topics.prefix"],
        default="__debezium-heartbeat",
        min_length=1,
        doc="First part of the heartbeat topic: `<topic.heartbeat.prefix>.<topic.prefix>`.",
    )
    heartbeat_name: TopicPart | None = prop(
        "topic.heartbeat.name",
        default=None,
        min_length=1,
        doc="Full name of the heartbeat topic; overrides `topic.heartbeat.prefix`.",
    )
    node_id: str | None = prop(
        "node.id",
        default=None,
        min_length=1,
        doc="Node id written to the `cdc.source` header. Not set: the host name of this machine.",
    )

    @property
    def is_topic_replaced(self) -> bool:
        """Whether `topic.regex` names topics."""
        return self.topic_naming_strategy == _REPLACING

    @property
    def transaction_topic_name(self) -> str:
        if self.transaction_topic is not None:
            return self.transaction_topic.replace(_NAME_REFERENCE, self.topic_prefix)
        return self.topic_of(self.topic_transaction)

    @property
    def heartbeat_topic_name(self) -> str:
        return self.heartbeat_name or (
            f"{self.heartbeat_prefix}{self.topic_delimiter}{self.topic_prefix}"
        )

    def topic_of(self, *parts: str) -> str:
        """The topic name with these parts after the prefix."""
        return self.topic_delimiter.join((self.topic_prefix, *parts))
