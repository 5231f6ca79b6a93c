"""What is wrong with properties that are right one by one, a sentence each."""

import re
from collections.abc import Iterator

from mongo_agent.capture import Namespaces
from mongo_agent.capture.namespaces import BUILT_IN
from mongo_agent.config.client import connection_problems
from mongo_agent.config.consistency import mistakes, without_effect
from mongo_agent.config.model import MongoProperties
from mongo_agent.config.snapshot import filter_problems
from mongo_agent.config.topic_naming import naming_doubts, naming_problems
from sidecar.schema_registry import Strategy

# `inventory[.]*` in the examples of Debezium's manuals takes `inventory..` and no collection.
_ENDLESS_DOTS = re.compile(r"(?:\[\.\]|\\\.)\*$")
_MAY_BE_DOT = re.compile(r"[.\\]|\[\^")


def cross_validation_errors(properties: MongoProperties) -> Iterator[str]:
    """Sentences that name properties in backticks; the first one of each is where it is."""
    yield from connection_problems(properties)
    yield from _lists(properties)
    yield from _scope(properties)
    yield from filter_problems(properties)
    yield from _stream(properties)
    yield from naming_problems(properties)
    if properties.source_struct_version == "v1" and properties.event_layout != "debezium-1.x":
        yield (
            "`source.struct.version=v1` goes with `event.layout=debezium-1.x`: Debezium has no "
            "other `source` than `v2` since its release 2."
        )
    yield from _position(properties)
    yield from _converters(properties)
    yield from mistakes(properties)


def _converters(properties: MongoProperties) -> Iterator[str]:
    problems = tuple(properties.converter_problems())
    yield from problems
    if problems or properties.event_layout != "mongodb":
        return
    registry = properties.registries().get("value")
    if registry is not None and registry.strategy is not Strategy.TOPIC:
        yield (
            f"`value.converter.value.subject.name.strategy` is `{registry.strategy.value}`, and "
            "with `event.layout=mongodb` values are text, which has no record to be named after: "
            f"it must be `{Strategy.TOPIC.value}`."
        )


def cross_validation_warnings(properties: MongoProperties) -> Iterator[str]:
    """What may be meant otherwise: warnings."""
    if properties.ssl_invalid_hostname_allowed:
        yield (
            "`mongodb.ssl.invalid.hostname.allowed=true`: any server with a trusted certificate is "
            "believed."
        )
    if properties.deployment == "shard":
        sentence = "`mongodb.deployment=shard`: order between shards is only by cluster time"
        if properties.snapshot_mode != "no_data":
            sentence += (
                ", and copies of sharded collections may hold documents that another shard owns; "
                "docs/how-to/mongodb-snapshots.md says how to copy them through a mongos"
            )
        yield f"{sentence}."
    if properties.filters_match_mode == "regex":
        yield from _patterns_without_collections(properties)
    if properties.full_update_type == "post_image" and "update_full" not in properties.capture_mode:
        yield (
            "`capture.mode.full.update.type` has no effect here: "
            f"`capture.mode={properties.capture_mode}` has no `after` of updates."
        )
    if properties.cursor_pipeline is None and properties.cursor_pipeline_order != "internal_first":
        yield "`cursor.pipeline.order` has no effect without `cursor.pipeline`."
    yield from naming_doubts(properties)
    captured = _namespaces(properties)
    for name in properties.snapshot_filter_list:
        if captured is not None and not captured.captures(*_parts(name)):
            yield f"`snapshot.collection.filter.overrides` names {name}, which is not captured."
    yield from _signals_out_of_reach(properties)
    yield from without_effect(properties)


def _pattern_lists(properties: MongoProperties) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return (
        ("database.include.list", properties.database_include_list),
        ("database.exclude.list", properties.database_exclude_list),
        ("collection.include.list", properties.collection_include_list),
        ("collection.exclude.list", properties.collection_exclude_list),
        ("snapshot.include.collection.list", properties.snapshot_include_list),
    )


def _lists(properties: MongoProperties) -> Iterator[str]:
    for name, patterns in _pattern_lists(properties):
        for pattern in patterns:
            try:
                Namespaces(include_databases=(pattern,), mode=properties.filters_match_mode)
            except ValueError as error:
                yield (
                    f"`{name}` must be regular expressions, separated by commas: {error}; mend it, "
                    "or set `filters.match.mode=literal` for names as they are."
                )
    for what, included, excluded in (
        ("database", properties.database_include_list, properties.database_exclude_list),
        ("collection", properties.collection_include_list, properties.collection_exclude_list),
    ):
        if included and excluded:
            yield (
                f"`{what}.include.list` and `{what}.exclude.list` exclude each other: keep one of "
                "them."
            )


def _patterns_without_collections(properties: MongoProperties) -> Iterator[str]:
    for name, patterns in _pattern_lists(properties):
        if name.startswith("database."):
            continue
        for pattern in patterns:
            if not _MAY_BE_DOT.search(_ENDLESS_DOTS.sub("", pattern)):
                yield (
                    f"`{name}`: `{pattern}` takes no collection, since it is compared with the "
                    "whole of `database.collection`; `inventory[.].*` takes all of `inventory`."
                )


def _scope(properties: MongoProperties) -> Iterator[str]:
    scope, targets = properties.capture_scope, properties.capture_target
    if scope == "deployment":
        if targets:
            yield "`capture.target` goes with `capture.scope=database` or `collection`."
        return
    if not targets:
        yield (
            f"`capture.target` must be set for `capture.scope={scope}`: the {scope}s that are "
            "watched."
        )
    captured = _namespaces(properties)
    for target in dict.fromkeys(targets):
        database, collection = _parts(target)
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
            yield f"`capture.target` names {target}, which is the server's own."
        elif captured is not None and not (
            captured.captures(database, collection)
            if collection
            else captured.captures_database(database)
        ):
            yield f"`capture.target` names {target}, which the lists do not let pass."


def _parts(name: str) -> tuple[str, str]:
    """Database and collection; without a dot the latter is empty."""
    database, _, collection = name.partition(".")
    return database, collection


def _namespaces(properties: MongoProperties) -> Namespaces | None:
    """None for lists that cannot be used, which `_lists` says."""
    try:
        return namespaces(properties)
    except ValueError:
        return None


def namespaces(properties: MongoProperties) -> Namespaces:
    """What is captured. Raises ValueError for lists that cannot be used."""
    return Namespaces(
        include_databases=properties.database_include_list,
        exclude_databases=properties.database_exclude_list,
        include_collections=properties.collection_include_list,
        exclude_collections=properties.collection_exclude_list,
        mode=properties.filters_match_mode,
    )


def _stream(properties: MongoProperties) -> Iterator[str]:
    if {"c", "u", "d"} <= set(properties.skipped_operations) and (
        properties.snapshot_mode == "no_data"
    ):
        yield (
            "`skipped.operations` leaves out every change and `snapshot.mode=no_data` every "
            "document that is there: nothing would be published."
        )
    if 0 < properties.socket_timeout_ms <= properties.cursor_max_await_time_ms:
        yield (
            "`mongodb.socket.timeout.ms` must be more than `cursor.max.await.time.ms`, or 0: a "
            "quiet stream answers only then."
        )
    queue, batch = properties.max_queue_size, properties.max_batch_size
    if queue is not None and batch is not None and queue <= batch:
        yield "`max.queue.size` must be more than `max.batch.size`."
    for alias, name, field_name, is_set in (
        ("max.queue.size", "inflight.max.events", "inflight_max_events", queue is not None),
        (
            "max.queue.size.in.bytes",
            "inflight.max.bytes",
            "inflight_max_bytes",
            properties.max_queue_size_in_bytes > 0,
        ),
    ):
        if is_set and field_name in properties.model_fields_set:
            yield f"`{alias}` and `{name}` are the same: keep one of them."


def _position(properties: MongoProperties) -> Iterator[str]:
    if properties.position_store == "kafka" and properties.sink != "kafka":
        yield "`position.store=kafka` goes with `sink=kafka`."
    if properties.position_topic is not None and properties.position_store == "file":
        yield "`position.topic` goes with `position.store=kafka`."
    policy = properties.history_lost_policy
    if policy not in (None, "resnapshot") and properties.snapshot_mode == "when_needed":
        yield (
            f"`history.lost.policy={policy}` contradicts `snapshot.mode=when_needed`, which copies "
            "again: leave one of them out."
        )
    if "kafka" in properties.signal_channels and not (
        properties.signal_servers or properties.kafka_producer.get("bootstrap.servers")
    ):
        yield (
            "`signal.kafka.bootstrap.servers` must be set for the channel `kafka` of "
            "`signal.enabled.channels`."
        )
    if "file" in properties.signal_channels and properties.signal_file is None:
        yield "`signal.file` must be set for the channel `file` of `signal.enabled.channels`."


def _signals_out_of_reach(properties: MongoProperties) -> Iterator[str]:
    if properties.signal_file is not None and "file" not in properties.signal_channels:
        yield "`signal.file` has no effect without `file` in `signal.enabled.channels`."
    collection = properties.signal_collection
    if collection is None or "source" not in properties.signal_channels:
        return
    if properties.cursor_pipeline is not None:
        yield (
            f"`signal.data.collection={collection}` is seen only where `cursor.pipeline` lets its "
            "inserts pass."
        )
    holder = {"database": _parts(collection)[0], "collection": collection}
    scope = properties.capture_scope
    if scope != "deployment" and holder[scope] not in properties.capture_target:
        yield f"`signal.data.collection={collection}` is not seen: no `capture.target` holds it."
