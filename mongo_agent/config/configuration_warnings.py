"""Warnings about properties that have no effect, or an effect that their names do not suggest.

Each warning quotes its properties in backticks; the first property locates it in the file.
"""

import re
import time
from collections.abc import Iterator

from mongo_agent.capture.namespaces import BUILT_IN
from mongo_agent.config.addresses import STRING, string_options, string_warnings
from mongo_agent.config.events import naming_warnings
from mongo_agent.config.model import MongoProperties
from mongo_agent.regular_expressions import compile_pattern
from sidecar.properties.model import declarations

_PLAIN_COLLECTION = re.compile(r"[\w-]+(?:\.|\\\.|\[\.\])[\w-]+")
_EXPRESSION = re.compile(r"[\\*+?()\[\]|^$]")
# `inventory[.]*`, from examples in Debezium's manual, matches `inventory..` and no collection.
_ENDLESS_DOTS = re.compile(r"(?:\[\.\]|\\\.)\*$")
_MAY_BE_DOT = re.compile(r"[.\\]|\[\^")
_DAY_S = 86_400


def configuration_warnings(properties: MongoProperties) -> Iterator[str]:
    yield from _connection(properties)
    yield from _pattern_lists(properties)
    yield from _stream(properties)
    yield from naming_warnings(properties)
    yield from _snapshot_filters(properties)
    yield from _fields(properties)
    yield from _signals(properties)
    yield from _unused(properties)


def _connection(properties: MongoProperties) -> Iterator[str]:
    if properties.ssl_invalid_hostname_allowed:
        yield (
            "`mongodb.ssl.invalid.hostname.allowed=true`: the agent accepts any server with a "
            "trusted certificate."
        )
    has_tasks = properties.connection_mode == "replica_set" and properties.tasks_max > 1
    if properties.tasks_max > 1 and not has_tasks:
        yield (
            f"`tasks.max={properties.tasks_max}` has no effect without "
            "`mongodb.connection.mode=replica_set`."
        )
    if properties.deployment == "shard" or has_tasks:
        name = "mongodb.connection.mode=replica_set" if has_tasks else "mongodb.deployment=shard"
        message = f"`{name}`: events of different shards are ordered only by time"
        if properties.snapshot_mode != "no_data":
            message += (
                ", and snapshots of sharded collections may contain documents of another shard; "
                "docs/how-to/mongodb-snapshots.md describes how to snapshot them through a mongos"
            )
        yield f"{message}."
    if properties.connection_string is not None:
        yield from string_warnings(properties.connection_string.get_secret_value())
    yield from _tls(properties)


def _tls(properties: MongoProperties) -> Iterator[str]:
    has_tls = _string_options(properties).get("tls")
    is_set = "ssl_enabled" in properties.model_fields_set
    if is_set and has_tls is not None and has_tls != properties.ssl_enabled:
        if properties.ssl_enabled:
            yield f"`mongodb.ssl.enabled=true` overrides `tls=false` in {STRING}."
        else:
            yield (
                f"`mongodb.ssl.enabled=false` has no effect: {STRING} has `tls=true`, so the "
                "connection uses TLS. Remove one of them."
            )


def _string_options(properties: MongoProperties) -> dict[str, object]:
    uri = properties.connection_string
    return {} if uri is None else string_options(uri.get_secret_value())


def _pattern_lists(properties: MongoProperties) -> Iterator[str]:
    is_literal = properties.filters_match_mode == "literal"
    for name, patterns in properties.pattern_lists():
        of_databases = name.startswith("database.")
        for pattern in dict.fromkeys(patterns):
            warning = None if is_literal else compile_pattern(pattern, ignores_case=True).warning
            if warning is not None:
                yield f"`{name}` {warning}."
            reason = _suspicion(pattern, of_databases, is_literal)
            if reason is not None and not name.startswith("snapshot."):
                yield f"`{name}`: `{pattern}` {reason}."
            elif not (of_databases or is_literal or _matches_a_dot(pattern)):
                yield (
                    f"`{name}`: `{pattern}` matches no collection, because it is compared with the "
                    "whole `database.collection`. `inventory[.].*` matches every collection of "
                    "`inventory`."
                )


def _matches_a_dot(pattern: str) -> bool:
    return _MAY_BE_DOT.search(_ENDLESS_DOTS.sub("", pattern)) is not None


def _suspicion(pattern: str, of_databases: bool, is_literal: bool) -> str | None:
    if ";" in pattern:
        return "contains `;`; commas separate the entries of a list"
    if of_databases and pattern in BUILT_IN:
        return "is a system database of the server, which the agent never captures"
    has_dot = "." in pattern if is_literal else _PLAIN_COLLECTION.fullmatch(pattern)
    if of_databases and has_dot:
        return (
            "looks like a collection, but database names have no dot; use the collection lists "
            "instead"
        )
    if is_literal and _EXPRESSION.search(pattern):
        return (
            "looks like a regular expression, but `filters.match.mode=literal` compares it as a "
            "name"
        )
    if is_literal and not of_databases and "." not in pattern:
        return "matches no collection; names are `database.collection`"
    return None


def _stream(properties: MongoProperties) -> Iterator[str]:
    if properties.full_update_type == "post_image" and "update_full" not in properties.capture_mode:
        yield (
            "`capture.mode.full.update.type` has no effect: updates have no `after` with "
            f"`capture.mode={properties.capture_mode}`."
        )
    start = properties.capture_start_op_time
    if start is not None and start.second > time.time() + _DAY_S:
        yield (
            "`capture.start.op.time` is in the future; the agent skips all changes until then. Set "
            "a past time or remove it."
        )


def _snapshot_filters(properties: MongoProperties) -> Iterator[str]:
    captured = properties.namespaces()
    for name in properties.snapshot_filter_list:
        database, _, collection = name.partition(".")
        if not captured.captures(database, collection):
            yield (
                f"`snapshot.collection.filter.overrides` names {name}, which the agent does not "
                "capture."
            )


def _fields(properties: MongoProperties) -> Iterator[str]:
    captured = properties.namespaces()
    excluded = set(properties.field_exclude_list)
    renamed = [entry.rpartition(":")[0] for entry in properties.field_renames]
    for name, path in (
        *(("field.exclude.list", path) for path in properties.field_exclude_list),
        *(("field.renames", path) for path in renamed),
    ):
        database, collection = path.split(".")[:2]
        if "*" not in database + collection and not captured.captures(database, collection):
            yield f"`{name}` names {path}; the agent does not capture its collection."
        if name == "field.renames" and path in excluded:
            yield f"`{name}` names {path}, which `field.exclude.list` removes."


def _signals(properties: MongoProperties) -> Iterator[str]:
    collection = properties.signal_collection
    if collection is None or "source" not in properties.signal_channels:
        return
    if properties.cursor_pipeline is not None:
        yield (
            f"`signal.data.collection={collection}`: the agent receives signals only if "
            "`cursor.pipeline` passes their inserts."
        )
    watched = {"database": collection.partition(".")[0], "collection": collection}
    scope = properties.capture_scope
    if scope != "deployment" and watched[scope] not in properties.capture_target:
        yield (
            f"`signal.data.collection={collection}` has no effect: no `capture.target` contains it."
        )


def _unused(properties: MongoProperties) -> Iterator[str]:
    """Warn about properties that have no effect because a condition is not met."""
    channels, has_uri = properties.signal_channels, properties.connection_string is not None
    has_certificate = "tlsCertificateKeyFile" in _string_options(properties)
    strategy = "`topic.naming.strategy=DefaultRegexTopicNamingStrategy`"
    conditions = {
        "mongodb.authsource":
            (properties.user or has_uri, "`mongodb.user`: the agent does not log in"),
        "mongodb.ssl.truststore.password":
            (properties.ssl_truststore, "`mongodb.ssl.truststore`"),
        "mongodb.ssl.keystore.password":
            (properties.ssl_keystore, "`mongodb.ssl.keystore`"),
        "mongodb.ssl.key.password":
            (properties.ssl_certificate_path or has_certificate, "`mongodb.ssl.certificate.path`"),
        "cursor.pipeline.order":
            (properties.cursor_pipeline is not None, "`cursor.pipeline`"),
        "guardrail.collections.limit.action":
            (properties.guardrail_max, "`guardrail.collections.max`"),
        "topic.regex": (properties.is_topic_replaced, strategy),
        "topic.replacement": (properties.is_topic_replaced, strategy),
        "topic.transaction":
            (properties.provide_transaction_metadata, "`provide.transaction.metadata=true`"),
        "topic.heartbeat.name":
            (properties.heartbeat_interval_ms, "`heartbeat.interval.ms`"),
        "signal.data.collection":
            ("source" in channels, "`source` in `signal.enabled.channels`"),
        "signal.kafka.topic":
            ("kafka" in channels, "`kafka` in `signal.enabled.channels`"),
        "signal.kafka.bootstrap.servers":
            ("kafka" in channels, "`kafka` in `signal.enabled.channels`"),
        "signal.file": ("file" in channels, "`file` in `signal.enabled.channels`"),
        "position.commit.interval.ms":
            (properties.position_store == "kafka", "`position.store=kafka`"),
        "standby.session.timeout.ms":
            (properties.standby_enabled, "`standby.enabled=true`"),
    }  # fmt: skip
    for field, info, declaration in declarations(type(properties)):
        is_met, condition = conditions.get(declaration.name, (True, ""))
        is_set = field in properties.model_fields_set
        if is_set and not is_met and getattr(properties, field) not in (info.default, ()):
            yield f"`{declaration.name}` has no effect without {condition}."
