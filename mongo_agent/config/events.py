"""What is published: topics, layout, content."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator

from mongo_agent.config.fields import FieldList, RenamingList
from sidecar.properties import LONGEST_TOPIC, LowerCase, Milliseconds, Properties, TopicPrefix, prop

_TOPIC = re.compile(r"[A-Za-z0-9._-]*")
_NAME_REFERENCE = "${database.server.name}"
_PACKAGE = "io.debezium.schema."
_REPLACING = "DefaultRegexTopicNamingStrategy"
_STRATEGIES = ("DefaultTopicNamingStrategy", "DefaultUnicodeTopicNamingStrategy", _REPLACING)


def _topic_part(value: str) -> str:
    """Kafka's letters."""
    if len(value) > LONGEST_TOPIC:
        raise ValueError(
            f"must be at most {LONGEST_TOPIC} characters and has {len(value)}: Kafka allows no "
            "longer topic"
        )
    if not _TOPIC.fullmatch(value.replace(_NAME_REFERENCE, "")):
        raise ValueError("must have only letters, digits, `.`, `_` and `-`, as topics of Kafka do")
    return value


def _strategy(value: str) -> str:
    """The name of Debezium's class without its package."""
    name = value.strip().removeprefix(_PACKAGE)
    if name in _STRATEGIES:
        return name
    if name.startswith("Schema"):
        raise ValueError(
            "puts all collections into one topic, where documents of the same `_id` take each "
            "other's place; `DefaultRegexTopicNamingStrategy` chooses which share one"
        )
    raise ValueError(f"loads a class; it must be one of {', '.join(_STRATEGIES)}")


TopicPart = Annotated[str, AfterValidator(_topic_part)]


class EventProperties(Properties):
    """What is published."""

    topic_prefix: TopicPrefix = prop(
        "topic.prefix",
        aliases=["mongodb.name"],
        doc="First part of every topic name: `<topic.prefix>.<database>.<collection>`. Recorded "
        "with the position: a start with another prefix is refused.",
        min_length=1,
    )
    topic_delimiter: TopicPart = prop(
        "topic.delimiter",
        default=".",
        min_length=1,
        doc="Between the parts of a topic name.",
    )
    topic_naming_strategy: Annotated[str, AfterValidator(_strategy)] = prop(
        "topic.naming.strategy",
        default=_STRATEGIES[0],
        doc="How topics of collections are named, with or without the package of Debezium's class. "
        "`DefaultTopicNamingStrategy`: as `topic.prefix` says, with `_` for letters that Kafka "
        "does not take. `DefaultUnicodeTopicNamingStrategy`: `_u` and their number for those and "
        "for `_`, so that names which differ by such letters alone are not one topic. "
        "`DefaultRegexTopicNamingStrategy`: `topic.regex` and `topic.replacement` over the first.",
    )
    topic_regex: str | None = prop(
        "topic.regex",
        has_placeholders=True,
        default=None,
        min_length=1,
        doc="For the last of them: a regular expression, matched with the whole of the name; "
        "others stay as they are.",
    )
    topic_replacement: str | None = prop(
        "topic.replacement",
        has_placeholders=True,
        default=None,
        min_length=1,
        doc="What takes its place, with `$1` or `${name}` for its groups.",
    )
    event_layout: Annotated[
        Literal["debezium-3", "debezium-2.1", "debezium-1.x", "mongodb"], LowerCase
    ] = prop(
        "event.layout",
        default="debezium-3",
        doc="How values are laid out: as Debezium's releases of that line do it, or the server's "
        "own change event. Keys are the same in all.",
    )
    source_struct_version: Annotated[Literal["v1", "v2"], LowerCase] = prop(
        "source.struct.version",
        default="v2",
        doc="`v1`: the form of `source` before Debezium 0.10, which its releases 1.x still wrote; "
        "with `event.layout=debezium-1.x`.",
    )
    json_serialization_mode: Annotated[
        Literal["legacy", "strict", "extended", "relaxed"], LowerCase
    ] = prop(
        "json.serialization.mode",
        default="legacy",
        doc="Extended JSON of documents in values; docs/reference/mongodb-event-format.md has the "
        "table.",
    )
    tombstones_on_delete: bool = prop(
        "tombstones.on.delete",
        default=True,
        doc="Whether a message without a value follows each delete, so that a compacted topic "
        "forgets the document.",
    )
    field_exclude_list: FieldList = prop(
        "field.exclude.list",
        aliases=["field.blacklist"],
        default=(),
        doc="Fields that are left out: `database.collection.field.nested`; `*` stands for any "
        "text in the names of the database and the collection.",
    )
    field_renames: RenamingList = prop(
        "field.renames",
        default=(),
        doc="Fields that get another name: `database.collection.field.nested:name`, one after the "
        "other.",
    )
    provide_transaction_metadata: bool = prop(
        "provide.transaction.metadata",
        default=False,
        doc="Whether events say which transaction they are part of, and beginning and end of each "
        "are published.",
    )
    topic_transaction: TopicPart = prop(
        "topic.transaction",
        default="transaction",
        min_length=1,
        doc="Where the latter go: `<topic.prefix>.<topic.transaction>`.",
    )
    transaction_topic: TopicPart | None = prop(
        "transaction.topic",
        has_placeholders=True,
        default=None,
        min_length=1,
        doc="The whole name of that topic, over `topic.transaction`; "
        f"`{_NAME_REFERENCE}` in it stands for `topic.prefix`.",
    )
    schema_changes_topic: TopicPart | None = prop(
        "topic.schema.changes",
        default=None,
        min_length=1,
        doc="Topic for what happens to collections and databases: created, renamed, dropped, "
        "indexes. Not set: that is counted and not published.",
    )
    heartbeat_interval_ms: Milliseconds = prop(
        "heartbeat.interval.ms",
        default=0,
        doc="How often a message tells that the agent is alive; 0: never. The position moves "
        "without them.",
    )
    heartbeat_prefix: TopicPart = prop(
        "topic.heartbeat.prefix",
        aliases=["heartbeat.topics.prefix"],
        default="__debezium-heartbeat",
        min_length=1,
        doc="Where they go: `<topic.heartbeat.prefix>.<topic.prefix>`.",
    )
    heartbeat_name: TopicPart | None = prop(
        "topic.heartbeat.name",
        default=None,
        min_length=1,
        doc="The whole name of that topic, over `topic.heartbeat.prefix`.",
    )
    node_id: str | None = prop(
        "node.id",
        default=None,
        min_length=1,
        doc="Who says it, in the `cdc.source` header. Not set: the name of this machine.",
    )

    @property
    def is_topic_replaced(self) -> bool:
        """Whether topics are named by an expression."""
        return self.topic_naming_strategy == _REPLACING

    @property
    def transaction_topic_name(self) -> str:
        """Beginnings and ends of transactions."""
        if self.transaction_topic is not None:
            return self.transaction_topic.replace(_NAME_REFERENCE, self.topic_prefix)
        return self.topic_of(self.topic_transaction)

    @property
    def heartbeat_topic_name(self) -> str:
        return self.heartbeat_name or (
            f"{self.heartbeat_prefix}{self.topic_delimiter}{self.topic_prefix}"
        )

    def topic_of(self, *parts: str) -> str:
        """A topic of this agent."""
        return self.topic_delimiter.join((self.topic_prefix, *parts))
