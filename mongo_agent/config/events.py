"""Properties of topics and events, and the topic naming that they configure."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Literal

from mongo_agent.config.values import (
    NAME_REFERENCE,
    REPLACING,
    STRATEGIES,
    FieldList,
    NamingStrategy,
    RenamingList,
    TopicPart,
    text,
)
from mongo_agent.regular_expressions import compile_pattern
from mongo_agent.topic_naming import Naming, default_topic, regex_naming, unicode_topic
from sidecar.properties.model import Properties, prop
from sidecar.properties.types import LowerCase, Milliseconds, TopicPrefix


class EventProperties(Properties):
    topic_prefix: TopicPrefix = prop(
        "topic.prefix",
        aliases=["mongodb.name"],
        doc="First part of every topic name: `<topic.prefix>.<database>.<collection>`. The agent "
        "stores it with the offset and refuses to start with a different prefix.",
        min_length=1,
    )
    topic_delimiter: TopicPart = text(
        "topic.delimiter", default=".", doc="Separator between the parts of a topic name."
    )
    topic_naming_strategy: NamingStrategy = prop(
        "topic.naming.strategy",
        default=STRATEGIES[0],
        doc="Debezium class that names collection topics, with or without its package. "
        "`DefaultTopicNamingStrategy`: as in `topic.prefix`, with `_` for each character that "
        "Kafka rejects. `DefaultUnicodeTopicNamingStrategy`: `_u` and a code for each of these "
        "and for `_`, so that different names stay different. `DefaultRegexTopicNamingStrategy`: "
        "applies `topic.regex` and `topic.replacement` to the default name.",
    )
    topic_regex: str | None = text(
        "topic.regex",
        has_placeholders=True,
        doc="Regular expression of `DefaultRegexTopicNamingStrategy`, matched against the whole "
        "name; other names stay unchanged.",
    )
    topic_replacement: str | None = text(
        "topic.replacement",
        has_placeholders=True,
        doc="Replacement for names that match `topic.regex`, with `$1` or `${name}` for its "
        "groups.",
    )
    event_layout: Annotated[
        Literal["debezium-3", "debezium-2.1", "debezium-1.x", "mongodb"], LowerCase
    ] = prop(
        "event.layout",
        default="debezium-3",
        doc="Layout of values: a Debezium release line, or MongoDB's own change event "
        "(`mongodb`). All layouts have the same keys.",
    )
    source_struct_version: Annotated[Literal["v1", "v2"], LowerCase] = prop(
        "source.struct.version",
        default="v2",
        doc="Version of `source`. `v1`: as in releases before Debezium 0.10, which 1.x can still "
        "write; requires `event.layout=debezium-1.x`.",
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
        doc="Whether events contain their transaction, and the agent publishes the beginning and "
        "end of each transaction.",
    )
    topic_transaction: TopicPart = text(
        "topic.transaction",
        default="transaction",
        doc="Last part of the topic for transaction boundaries: "
        "`<topic.prefix>.<topic.transaction>`.",
    )
    transaction_topic: TopicPart | None = text(
        "transaction.topic",
        has_placeholders=True,
        doc="Full name of the topic for transaction boundaries; overrides `topic.transaction`. "
        "`${database.server.name}` in it stands for `topic.prefix`.",
    )
    schema_changes_topic: TopicPart | None = text(
        "topic.schema.changes",
        doc="Topic for renames and drops of collections and databases, and with MongoDB 6.0 also "
        "for new collections, indexes and options. By default the agent only counts them.",
    )
    heartbeat_interval_ms: Milliseconds = prop(
        "heartbeat.interval.ms",
        default=0,
        doc="Interval between heartbeat messages; 0 disables them. Offsets advance without them.",
    )
    heartbeat_prefix: TopicPart = text(
        "topic.heartbeat.prefix",
        aliases=["heartbeat.topics.prefix"],
        default="__debezium-heartbeat",
        doc="First part of the heartbeat topic: `<topic.heartbeat.prefix>.<topic.prefix>`.",
    )
    heartbeat_name: TopicPart | None = text(
        "topic.heartbeat.name",
        doc="Full name of the heartbeat topic; overrides `topic.heartbeat.prefix`.",
    )
    node_id: str | None = text(
        "node.id",
        doc="Node id written to the `cdc.source` header. Defaults to the machine's host name.",
    )

    @property
    def is_topic_replaced(self) -> bool:
        """Whether `topic.regex` determines topic names."""
        return self.topic_naming_strategy == REPLACING

    @property
    def transaction_topic_name(self) -> str:
        if self.transaction_topic is not None:
            return self.transaction_topic.replace(NAME_REFERENCE, self.topic_prefix)
        return self.topic_of(self.topic_transaction)

    @property
    def heartbeat_topic_name(self) -> str:
        return self.heartbeat_name or (
            f"{self.heartbeat_prefix}{self.topic_delimiter}{self.topic_prefix}"
        )

    def topic_of(self, *parts: str) -> str:
        """Build a topic name from the prefix and these parts."""
        return self.topic_delimiter.join((self.topic_prefix, *parts))


def naming(properties: EventProperties) -> Naming:
    """Create the topic naming from properties that have no `naming_problems`."""
    prefix, delimiter = properties.topic_prefix, properties.topic_delimiter
    match properties.topic_naming_strategy:
        case "DefaultUnicodeTopicNamingStrategy":
            return partial(unicode_topic, prefix, delimiter=delimiter)
        case "DefaultRegexTopicNamingStrategy":
            rule = regex_naming(properties.topic_regex or "", properties.topic_replacement or "")
            return lambda database, collection: rule.name(
                default_topic(prefix, database, collection, delimiter)
            )
        case _:
            return partial(default_topic, prefix, delimiter=delimiter)


def naming_problems(properties: EventProperties) -> Iterator[str]:
    """Yield an error for each property that contradicts the naming strategy."""
    if not properties.is_topic_replaced:
        return
    regex, replacement = properties.topic_regex, properties.topic_replacement
    for name, value in (("topic.regex", regex), ("topic.replacement", replacement)):
        if not value:
            strategy = properties.topic_naming_strategy
            yield f"`{name}` must be set for `topic.naming.strategy={strategy}`."
    if regex and replacement:
        try:
            regex_naming(regex, replacement)
        except ValueError as error:
            yield f"`topic.regex` and `topic.replacement` cannot be used: {error}."


def naming_warnings(properties: EventProperties) -> Iterator[str]:
    if properties.is_topic_replaced:
        yield (
            "`topic.naming.strategy`: in a topic of several collections, documents with the same "
            "`_id` have the same key, and compaction retains only one of them."
        )
        warning = compile_pattern(properties.topic_regex or "").warning
        if warning is not None:
            yield f"`topic.regex` {warning}."
