"""Validation of properties against each other: combinations that the agent rejects.

Each error quotes its properties in backticks; the first property locates it in the file.
"""

import re
from collections.abc import Iterator

from mongo_agent.capture.namespaces import BUILT_IN, Namespaces
from mongo_agent.capture.stream_pipeline import read_stages, removed_field
from mongo_agent.config.capture import AWAIT_MS
from mongo_agent.config.client import connection_problems
from mongo_agent.config.converters import SIDES
from mongo_agent.config.event_router import EVENT_ROUTER
from mongo_agent.config.events import naming_problems
from mongo_agent.config.model import MongoProperties
from mongo_agent.config.snapshot import filter_problems
from sidecar.errors import ConfigError
from sidecar.properties.types import LONGEST_TOPIC
from sidecar.schema_registry.settings import Strategy
from sidecar.sinks.kafka.config.client_config import client_properties
from sidecar.sinks.kafka.config.security import unused_security

_INVALID_IN_DATABASE = re.compile(r'[/\\. "$\0]')
_MAX_DATABASE_BYTES = 63
_CONSUMER = "signal.consumer."


def cross_validation_errors(properties: MongoProperties) -> Iterator[str]:
    """Yield an error for each combination of properties that is invalid as a whole."""
    yield from connection_problems(properties)
    yield from _lists(properties)
    yield from _scope(properties)
    yield from filter_problems(properties)
    yield from _stream(properties)
    yield from _tasks(properties)
    yield from _start(properties)
    yield from naming_problems(properties)
    if properties.source_struct_version == "v1" and properties.event_layout != "debezium-1.x":
        yield (
            "`source.struct.version=v1` requires `event.layout=debezium-1.x`: later Debezium "
            "releases write only `v2`. Set the layout or remove the property."
        )
    yield from _offsets(properties)
    if properties.dead_letter_topic is not None and properties.failure_handling == "fail":
        yield (
            "`errors.deadletterqueue.topic.name` has no effect with "
            "`event.processing.failure.handling.mode=fail`, because the agent exits at the first "
            "such event. Set `quarantine`, or remove the topic."
        )
    yield from _converters(properties)
    layout = properties.event_layout
    if properties.transform_names and layout not in ("debezium-3", "debezium-2.1"):
        yield (
            f"`transforms` requires `event.layout=debezium-3` or `debezium-2.1`, not `{layout}`: "
            "it transforms Debezium's envelope."
        )
    yield from _outbox_converters(properties)
    yield from _database_names(properties)
    yield from _topics(properties)
    yield from _renames(properties)
    yield from _signals(properties)
    for stage in read_stages(properties.cursor_pipeline or "[]"):
        field = removed_field(stage)
        if field is not None:
            yield f"`cursor.pipeline` removes `{field}`, which every event must keep."


def _exclusive(one: str, other: str) -> str:
    return f"`{one}` and `{other}` are mutually exclusive. Remove one of them."


def _lists(properties: MongoProperties) -> Iterator[str]:
    for name, patterns in properties.pattern_lists():
        for pattern in patterns:
            try:
                Namespaces(include_databases=(pattern,), mode=properties.filters_match_mode)
            except ValueError as error:
                yield (
                    f"`{name}` must be regular expressions, separated by commas: {error}. Correct "
                    "it, or set `filters.match.mode=literal` for exact names."
                )
    for what, included, excluded in (
        ("database", properties.database_include_list, properties.database_exclude_list),
        ("collection", properties.collection_include_list, properties.collection_exclude_list),
    ):
        if included and excluded:
            yield _exclusive(f"{what}.include.list", f"{what}.exclude.list")


def _scope(properties: MongoProperties) -> Iterator[str]:
    scope, targets = properties.capture_scope, properties.capture_target
    if scope == "deployment":
        if targets:
            yield (
                "`capture.target` requires `capture.scope=database` or `collection`. Set the scope "
                "or remove the targets."
            )
        return
    if not targets:
        yield (
            f"`capture.target` must be set for `capture.scope={scope}`. List the {scope}s to watch."
        )
    try:
        captured = properties.namespaces()
    except ValueError:
        # `_lists` reports the error.
        captured = Namespaces()
    for target in dict.fromkeys(targets):
        database, _, collection = target.partition(".")
        if scope == "database" and collection:
            yield (
                f"`capture.target` must name databases for `capture.scope=database`, not {target}."
            )
        elif scope == "collection" and not (database and collection):
            yield (
                "`capture.target` must name collections, `database.collection`, for "
                f"`capture.scope=collection`, not {target}."
            )
        elif database in BUILT_IN:
            yield (
                f"`capture.target` names {target}, a system database of the server. Remove it; the "
                "agent never captures system databases."
            )
        elif not (
            captured.captures(database, collection)
            if collection
            else captured.captures_database(database)
        ):
            yield (
                f"`capture.target` names {target}, which the include and exclude lists filter out. "
                "Correct one of them."
            )


def _stream(properties: MongoProperties) -> Iterator[str]:
    if {"c", "u", "d"} <= set(properties.skipped_operations) and (
        properties.snapshot_mode == "no_data"
    ):
        yield (
            "`skipped.operations` skips every change and `snapshot.mode=no_data` every existing "
            "document, so the agent would publish nothing. Change one of them."
        )
    await_ms = properties.cursor_max_await_time_ms or AWAIT_MS
    if 0 < properties.socket_timeout_ms <= await_ms:
        yield (
            "`mongodb.socket.timeout.ms` must be larger than `cursor.max.await.time.ms` "
            f"({await_ms}), or 0: an idle stream replies only after that time."
        )
    queue, batch = properties.max_queue_size, properties.max_batch_size
    if queue is not None and batch is not None and queue <= batch:
        yield "`max.queue.size` must be larger than `max.batch.size`."
    same = "set the same limit. Remove one of them."
    if queue is not None and "inflight_max_events" in properties.model_fields_set:
        yield f"`max.queue.size` and `inflight.max.events` {same}"
    if properties.max_queue_size_in_bytes and "inflight_max_bytes" in properties.model_fields_set:
        yield f"`max.queue.size.in.bytes` and `inflight.max.bytes` {same}"


def _tasks(properties: MongoProperties) -> Iterator[str]:
    mode = properties.connection_mode
    if mode is not None and properties.deployment != "auto":
        yield _exclusive("mongodb.connection.mode", "mongodb.deployment")
    if properties.task_id >= properties.tasks_max:
        yield (
            f"`task.id` is {properties.task_id}, but it must be less than "
            f"`tasks.max={properties.tasks_max}`. Correct one of them."
        )
    elif properties.task_id and mode != "replica_set":
        yield (
            f"`task.id` is {properties.task_id} without `mongodb.connection.mode=replica_set`: the "
            "agent would deliver the changes of all shards, as task 0 does. Set the mode, or run "
            "one agent without `task.id`."
        )
    if mode == "replica_set" and properties.tasks_max > 1 and properties.capture_start_token:
        yield (
            "`capture.start.token` belongs to one stream, but each of the "
            f"`tasks.max={properties.tasks_max}` tasks has its own. Use `capture.start.op.time`."
        )


def _start(properties: MongoProperties) -> Iterator[str]:
    if properties.capture_start_token is None:
        return
    if properties.capture_start_op_time is not None:
        yield _exclusive("capture.start.token", "capture.start.op.time")
    streams = len(dict.fromkeys(properties.capture_target))
    if streams > 1:
        yield (
            f"`capture.start.token` belongs to one stream, but `capture.target` opens {streams}. "
            "Use `capture.start.op.time`, or `capture.scope=deployment` with the lists."
        )


def _offsets(properties: MongoProperties) -> Iterator[str]:
    if properties.position_store == "kafka" and properties.sink != "kafka":
        yield "`position.store=kafka` requires `sink=kafka`. Set the sink or use `file`."
    if properties.position_topic is not None and properties.position_store == "file":
        yield "`position.topic` requires `position.store=kafka`. Set the store or remove the topic."
    if properties.standby_enabled and properties.position_store == "file":
        yield (
            "`standby.enabled=true` requires `position.store=kafka`, which both agents can read. "
            "Set the store or remove the property."
        )
    policy = properties.history_lost_policy
    if policy not in (None, "resnapshot") and properties.snapshot_mode == "when_needed":
        yield (
            f"`history.lost.policy={policy}` contradicts `snapshot.mode=when_needed`, which takes "
            "a new snapshot. Remove one of them."
        )


def _converters(properties: MongoProperties) -> Iterator[str]:
    problems = tuple(properties.converter_problems())
    yield from problems
    if problems or properties.event_layout != "mongodb":
        return
    registry = properties.registries().get("value")
    if registry is not None and registry.strategy is not Strategy.TOPIC:
        yield (
            f"`value.converter.value.subject.name.strategy` is `{registry.strategy.value}`. With "
            "`event.layout=mongodb` values are text without a record name: it must be "
            f"`{Strategy.TOPIC.value}`."
        )


def _database_names(properties: MongoProperties) -> Iterator[str]:
    for target in dict.fromkeys(properties.capture_target):
        database = target.partition(".")[0]
        invalid = _INVALID_IN_DATABASE.search(database)
        if invalid is not None:
            yield (
                f"`capture.target` names {target}; a database name cannot contain "
                f"`{invalid[0]}`. Correct the name."
            )
        elif len(database.encode()) > _MAX_DATABASE_BYTES:
            yield (
                f"`capture.target` names a database of {len(database.encode())} bytes; MongoDB "
                f"allows {_MAX_DATABASE_BYTES}. Correct the name."
            )
    source = properties.auth_source
    # $external is not a database.
    if source is not None and _INVALID_IN_DATABASE.search(source.removeprefix("$")):
        yield (
            f"`mongodb.authsource` is `{source}`, which is not a valid database name. Set the "
            "database that defines the user, such as `admin`, or `$external`."
        )


def _topics(properties: MongoProperties) -> Iterator[str]:
    seen: dict[str, str] = {}
    topics = list(properties.own_topics())
    if "kafka" in properties.signal_channels:
        topics.append(("signal.kafka.topic", properties.signal_topic_name))
    for name, topic in topics:
        if len(topic) > LONGEST_TOPIC:
            yield (
                f"`{name}` results in a topic of {len(topic)} characters; Kafka allows "
                f"{LONGEST_TOPIC}. Shorten it."
            )
        elif topic in seen:
            yield (
                f"`{name}` and `{seen[topic]}` name the same topic {topic}, but consumers expect "
                "one kind of message in it. Use two topics."
            )
        seen.setdefault(topic, name)


def _renames(properties: MongoProperties) -> Iterator[str]:
    names: dict[str, str] = {}
    for entry in properties.field_renames:
        path, _, name = entry.rpartition(":")
        if names.setdefault(path, name) != name:
            yield (
                f"`field.renames` renames {path} to both `{names[path]}` and `{name}`. Keep one "
                "of them."
            )


def _signals(properties: MongoProperties) -> Iterator[str]:
    channels, file = properties.signal_channels, properties.signal_file
    if "kafka" in channels and not (
        properties.signal_servers or properties.kafka_producer.get("bootstrap.servers")
    ):
        yield (
            "`signal.kafka.bootstrap.servers` must be set for the channel `kafka` of "
            "`signal.enabled.channels`."
        )
    if "file" in channels and file is None:
        yield "`signal.file` must be set for the channel `file` of `signal.enabled.channels`."
    if "file" in channels and file is not None and file.is_dir():
        yield f"`signal.file` is {file}, which is a directory. Name a file in it."
    collection = properties.signal_collection
    if collection is not None and "source" in channels:
        database, _, name = collection.partition(".")
        if database in BUILT_IN or name.startswith("system."):
            yield (
                f"`signal.data.collection` is {collection}, a system collection of the server "
                "without a change stream. Name a collection in one of your databases."
            )
    if "kafka" in channels and properties.signal_consumer:
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


def _outbox_converters(properties: MongoProperties) -> Iterator[str]:
    if properties.routes_outbox:
        return
    for side in SIDES:
        converter = properties.outbox_converter(side)
        if converter != "encoding":
            yield (
                f"`{side}.converter` is `{converter}`, which only supports an outbox: it requires "
                f"`transforms` with `{EVENT_ROUTER}`. Use `json` or JsonConverter."
            )
