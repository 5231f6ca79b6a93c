"""Properties that are right one by one and mean something else together, or nothing.

`mistakes` are refused: something would be lost, or nothing could start. `without_effect` are
warnings: what an operator set and the agent does not use.
"""

import re
import time
from collections.abc import Iterator

from mongo_agent.capture.namespaces import BUILT_IN, Namespaces
from mongo_agent.capture.user_stages import read_stages, removed_field
from mongo_agent.config.addresses import STRING, string_options, string_warnings
from mongo_agent.config.model import MongoProperties
from sidecar.errors import ConfigError
from sidecar.properties import LONGEST_TOPIC
from sidecar.sinks.kafka.client_properties import client_properties
from sidecar.sinks.kafka.security import unused_security

_NO_DATABASE_NAME = re.compile(r'[/\\. "$\0]')
_LONGEST_DATABASE = 63
_PLAIN_COLLECTION = re.compile(r"[\w-]+(?:\.|\\\.|\[\.\])[\w-]+")
_EXPRESSION = re.compile(r"[\\*+?()\[\]|^$]")
_A_DAY_S = 86_400
_CONSUMER = "signal.consumer."


def mistakes(properties: MongoProperties) -> Iterator[str]:
    """Sentences that name properties in backticks; the first one of each is where it is."""
    yield from _database_names(properties)
    yield from _topics(properties)
    yield from _renames(properties)
    yield from _signals(properties)
    for stage in read_stages(properties.cursor_pipeline or "[]"):
        field = removed_field(stage)
        if field is not None:
            yield (f"`cursor.pipeline` removes `{field}`, which every event must keep.")


def without_effect(properties: MongoProperties) -> Iterator[str]:
    """A sentence for each property that is set and changes nothing, or not what it seems."""
    yield from _connection(properties)
    yield from _lists(properties)
    yield from _fields(properties)
    yield from _unused(properties)
    start = properties.capture_start_op_time
    if start is not None and start.second > time.time() + _A_DAY_S:
        yield (
            "`capture.start.op.time` is in the future: changes up to then are not delivered. Set a "
            "time that has passed, or leave it out."
        )


def _database_names(properties: MongoProperties) -> Iterator[str]:
    for target in dict.fromkeys(properties.capture_target):
        database = target.partition(".")[0]
        refused = _NO_DATABASE_NAME.search(database)
        if refused is not None:
            yield (
                f"`capture.target` names {target}, and no database has `{refused[0]}` in its name: "
                "correct the name."
            )
        elif len(database.encode()) > _LONGEST_DATABASE:
            yield (
                f"`capture.target` names a database of {len(database.encode())} bytes; MongoDB "
                f"allows {_LONGEST_DATABASE}. Correct the name."
            )
    source = properties.auth_source
    # $external is no database.
    if source is not None and _NO_DATABASE_NAME.search(source.removeprefix("$")):
        yield (
            f"`mongodb.authsource` is `{source}`, which no database can be named: set the database "
            "that the user is defined in, such as `admin`, or `$external`."
        )


def _topics(properties: MongoProperties) -> Iterator[str]:
    seen: dict[str, str] = {}
    for name, topic in _own_topics(properties):
        if len(topic) > LONGEST_TOPIC:
            yield (
                f"`{name}` leads to a topic of {len(topic)} characters; Kafka allows "
                f"{LONGEST_TOPIC}. Shorten it."
            )
        elif topic in seen:
            yield (
                f"`{name}` and `{seen[topic]}` lead to the same topic {topic}, whose readers take "
                "one kind of message: name two topics."
            )
        seen.setdefault(topic, name)


def _own_topics(properties: MongoProperties) -> Iterator[tuple[str, str]]:
    """Topics besides those of collections: the property that names each, and its name."""
    if properties.provide_transaction_metadata:
        name = "transaction.topic" if properties.transaction_topic else "topic.transaction"
        yield name, properties.transaction_topic_name
    if properties.heartbeat_interval_ms:
        name = "topic.heartbeat.name" if properties.heartbeat_name else "topic.heartbeat.prefix"
        yield name, properties.heartbeat_topic_name
    if properties.schema_changes_topic is not None:
        yield "topic.schema.changes", properties.schema_changes_topic
    if properties.position_store == "kafka":
        yield "position.topic", properties.position_topic or properties.topic_of("position")
    if "kafka" in properties.signal_channels:
        topic = properties.signal_topic or f"{properties.topic_prefix}-signal"
        yield "signal.kafka.topic", topic


def _renames(properties: MongoProperties) -> Iterator[str]:
    names: dict[str, str] = {}
    for entry in properties.field_renames:
        path, _, name = entry.rpartition(":")
        if names.setdefault(path, name) != name:
            yield (
                f"`field.renames` gives {path} two names, `{names[path]}` and `{name}`: keep one "
                "of them."
            )


def _signals(properties: MongoProperties) -> Iterator[str]:
    file = properties.signal_file
    if "file" in properties.signal_channels and file is not None and file.is_dir():
        yield f"`signal.file` is {file}, which is a directory: name a file in it."
    collection = properties.signal_collection
    if collection is not None and "source" in properties.signal_channels:
        database, _, name = collection.partition(".")
        if database in BUILT_IN or name.startswith("system."):
            yield (
                f"`signal.data.collection` is {collection}, which is the server's own and has no "
                "change stream: name a collection in a database of yours."
            )
    if "kafka" in properties.signal_channels and properties.signal_consumer:
        yield from _consumer(properties)


def _consumer(properties: MongoProperties) -> Iterator[str]:
    settings = dict(properties.signal_consumer)
    try:
        client_properties({"bootstrap.servers": "h:1", **settings})
    except ConfigError as error:
        problems = list(error.problems)
    else:
        problems = list(unused_security(settings))
    for problem in problems:
        yield problem.replace("kafka.producer.", _CONSUMER).replace(
            "a Kafka producer", "the client"
        )


def _connection(properties: MongoProperties) -> Iterator[str]:
    is_set = properties.model_fields_set
    uri = properties.connection_string
    options = {} if uri is None else string_options(uri.get_secret_value())
    if uri is not None:
        yield from string_warnings(uri.get_secret_value())
    has_tls = options.get("tls")
    if "ssl_enabled" in is_set and has_tls is not None and has_tls != properties.ssl_enabled:
        if properties.ssl_enabled:
            yield f"`mongodb.ssl.enabled=true` counts more than `tls=false` in {STRING}."
        else:
            yield (
                f"`mongodb.ssl.enabled=false` has no effect: {STRING} has `tls=true`, so the "
                "connection is encrypted. Leave one of them out."
            )
    if properties.auth_source is not None and properties.user is None and uri is None:
        yield (
            "`mongodb.authsource` has no effect without `mongodb.user`: the agent does not log in."
        )
    for password, name, stores in (
        (
            properties.ssl_truststore_password,
            "mongodb.ssl.truststore.password",
            {"mongodb.ssl.truststore": properties.ssl_truststore},
        ),
        (
            properties.ssl_keystore_password,
            "mongodb.ssl.keystore.password",
            {"mongodb.ssl.keystore": properties.ssl_keystore},
        ),
        (
            properties.ssl_key_password,
            "mongodb.ssl.key.password",
            {"mongodb.ssl.certificate.path": properties.ssl_certificate_path},
        ),
    ):
        for store, path in stores.items():
            in_string = store.endswith("certificate.path") and "tlsCertificateKeyFile" in options
            if password is not None and path is None and not in_string:
                yield f"`{name}` has no effect without `{store}`."


def _lists(properties: MongoProperties) -> Iterator[str]:
    is_literal = properties.filters_match_mode == "literal"
    for name, patterns, is_of_databases in (
        ("database.include.list", properties.database_include_list, True),
        ("database.exclude.list", properties.database_exclude_list, True),
        ("collection.include.list", properties.collection_include_list, False),
        ("collection.exclude.list", properties.collection_exclude_list, False),
    ):
        for pattern in dict.fromkeys(patterns):
            reason = _pattern_doubt(pattern, is_of_databases, is_literal)
            if reason is not None:
                yield f"`{name}`: `{pattern}` {reason}."


def _pattern_doubt(pattern: str, is_of_databases: bool, is_literal: bool) -> str | None:
    if ";" in pattern:
        return "has `;` in it; commas separate the entries of a list"
    if is_of_databases and pattern in BUILT_IN:
        return "is the server's own database, which is never captured"
    has_dot = "." in pattern if is_literal else _PLAIN_COLLECTION.fullmatch(pattern)
    if is_of_databases and has_dot:
        return (
            "looks like a collection, and names of databases have no dot: see the lists of "
            "collections"
        )
    if is_literal and _EXPRESSION.search(pattern):
        return (
            "looks like a regular expression, and `filters.match.mode=literal` takes it for a name"
        )
    if is_literal and not is_of_databases and "." not in pattern:
        return "takes no collection; names are `database.collection`"
    return None


def _fields(properties: MongoProperties) -> Iterator[str]:
    try:
        captured = Namespaces(
            include_databases=properties.database_include_list,
            exclude_databases=properties.database_exclude_list,
            include_collections=properties.collection_include_list,
            exclude_collections=properties.collection_exclude_list,
            mode=properties.filters_match_mode,
        )
    except ValueError:
        return
    excluded = set(properties.field_exclude_list)
    renamed = [entry.rpartition(":")[0] for entry in properties.field_renames]
    for name, path in (
        *(("field.exclude.list", path) for path in properties.field_exclude_list),
        *(("field.renames", path) for path in renamed),
    ):
        database, collection = path.split(".")[:2]
        if "*" not in database + collection and not captured.captures(database, collection):
            yield f"`{name}` names {path}, whose collection is not captured."
        if name == "field.renames" and path in excluded:
            yield f"`{name}` names {path}, which `field.exclude.list` leaves out."


def _unused(properties: MongoProperties) -> Iterator[str]:
    is_set = properties.model_fields_set
    for field, name, is_used, condition in (
        ("position_commit_interval_ms", "position.commit.interval.ms",
         properties.position_store == "kafka", "`position.store=kafka`"),
        ("signal_collection", "signal.data.collection",
         "source" in properties.signal_channels, "`source` in `signal.enabled.channels`"),
        ("signal_topic", "signal.kafka.topic",
         "kafka" in properties.signal_channels, "`kafka` in `signal.enabled.channels`"),
        ("signal_servers", "signal.kafka.bootstrap.servers",
         "kafka" in properties.signal_channels, "`kafka` in `signal.enabled.channels`"),
        ("guardrail_action", "guardrail.collections.limit.action",
         properties.guardrail_max > 0, "`guardrail.collections.max`"),
        ("topic_transaction", "topic.transaction",
         properties.provide_transaction_metadata, "`provide.transaction.metadata=true`"),
        ("heartbeat_name", "topic.heartbeat.name",
         properties.heartbeat_interval_ms > 0, "`heartbeat.interval.ms`"),
    ):  # fmt: skip
        default = type(properties).model_fields[field].default
        if field in is_set and not is_used and getattr(properties, field) not in (default, ()):
            yield f"`{name}` has no effect without {condition}."
