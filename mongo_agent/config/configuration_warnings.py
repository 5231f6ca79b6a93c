"""Warnings about properties that have no effect, or another effect than they suggest.

Each warning names its properties in backticks; the first one locates it in the file.
"""

import re
import time
from collections.abc import Iterator

from mongo_agent.capture.namespaces import BUILT_IN
from mongo_agent.config.addresses import STRING, string_options, string_warnings
from mongo_agent.config.model import MongoProperties
from mongo_agent.config.pattern_lists import captured_namespaces, pattern_lists
from mongo_agent.config.topic_naming import naming_warnings

_PLAIN_COLLECTION = re.compile(r"[\w-]+(?:\.|\\\.|\[\.\])[\w-]+")
_EXPRESSION = re.compile(r"[\\*+?()\[\]|^$]")
# `inventory[.]*` in the examples of Debezium's manuals matches `inventory..` and no collection.
_ENDLESS_DOTS = re.compile(r"(?:\[\.\]|\\\.)\*$")
_MAY_BE_DOT = re.compile(r"[.\\]|\[\^")
_DAY_S = 86_400


def configuration_warnings(properties: MongoProperties) -> Iterator[str]:
    """Warnings of a valid configuration."""
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
    uri = properties.connection_string
    options = {} if uri is None else string_options(uri.get_secret_value())
    if uri is not None:
        yield from string_warnings(uri.get_secret_value())
    yield from _tls(properties, options)
    if properties.auth_source is not None and properties.user is None and uri is None:
        yield (
            "`mongodb.authsource` has no effect without `mongodb.user`: the agent does not log in."
        )


def _tls(properties: MongoProperties, options: dict[str, object]) -> Iterator[str]:
    has_tls = options.get("tls")
    is_set = "ssl_enabled" in properties.model_fields_set
    if is_set and has_tls is not None and has_tls != properties.ssl_enabled:
        if properties.ssl_enabled:
            yield f"`mongodb.ssl.enabled=true` overrides `tls=false` in {STRING}."
        else:
            yield (
                f"`mongodb.ssl.enabled=false` has no effect: {STRING} has `tls=true`, so the "
                "connection uses TLS. Remove one of them."
            )
    certificate_in_string = "tlsCertificateKeyFile" in options
    for password, name, path, store in (
        (
            properties.ssl_truststore_password,
            "mongodb.ssl.truststore.password",
            properties.ssl_truststore,
            "mongodb.ssl.truststore",
        ),
        (
            properties.ssl_keystore_password,
            "mongodb.ssl.keystore.password",
            properties.ssl_keystore,
            "mongodb.ssl.keystore",
        ),
        (
            properties.ssl_key_password,
            "mongodb.ssl.key.password",
            properties.ssl_certificate_path or certificate_in_string or None,
            "mongodb.ssl.certificate.path",
        ),
    ):
        if password is not None and path is None:
            yield f"`{name}` has no effect without `{store}`."


def _pattern_lists(properties: MongoProperties) -> Iterator[str]:
    is_literal = properties.filters_match_mode == "literal"
    for name, patterns in pattern_lists(properties):
        of_databases = name.startswith("database.")
        for pattern in dict.fromkeys(patterns):
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
            "looks like a collection, and database names have no dot; use the collection lists "
            "instead"
        )
    if is_literal and _EXPRESSION.search(pattern):
        return (
            "looks like a regular expression, and `filters.match.mode=literal` compares it as a "
            "name"
        )
    if is_literal and not of_databases and "." not in pattern:
        return "matches no collection; names are `database.collection`"
    return None


def _stream(properties: MongoProperties) -> Iterator[str]:
    if properties.full_update_type == "post_image" and "update_full" not in properties.capture_mode:
        yield (
            "`capture.mode.full.update.type` has no effect: events of "
            f"`capture.mode={properties.capture_mode}` have no `after` of updates."
        )
    if properties.cursor_pipeline is None and properties.cursor_pipeline_order != "internal_first":
        yield "`cursor.pipeline.order` has no effect without `cursor.pipeline`."
    start = properties.capture_start_op_time
    if start is not None and start.second > time.time() + _DAY_S:
        yield (
            "`capture.start.op.time` is in the future; the agent skips all changes until then. Set "
            "a past time or remove it."
        )


def _snapshot_filters(properties: MongoProperties) -> Iterator[str]:
    captured = captured_namespaces(properties)
    for name in properties.snapshot_filter_list:
        database, _, collection = name.partition(".")
        if captured is not None and not captured.captures(database, collection):
            yield (
                f"`snapshot.collection.filter.overrides` names {name}, which the agent does not "
                "capture."
            )


def _fields(properties: MongoProperties) -> Iterator[str]:
    captured = captured_namespaces(properties)
    if captured is None:
        return
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
    if properties.signal_file is not None and "file" not in properties.signal_channels:
        yield "`signal.file` has no effect without `file` in `signal.enabled.channels`."
    collection = properties.signal_collection
    if collection is None or "source" not in properties.signal_channels:
        return
    if properties.cursor_pipeline is not None:
        yield (
            f"`signal.data.collection={collection}`: the agent sees signals only where "
            "`cursor.pipeline` passes their inserts."
        )
    watched = {"database": collection.partition(".")[0], "collection": collection}
    scope = properties.capture_scope
    if scope != "deployment" and watched[scope] not in properties.capture_target:
        yield (
            f"`signal.data.collection={collection}` has no effect: no `capture.target` contains it."
        )


def _unused(properties: MongoProperties) -> Iterator[str]:
    for field, name, is_used, condition in (
        ("position_commit_interval_ms", "position.commit.interval.ms",
         properties.position_store == "kafka", "`position.store=kafka`"),
        ("standby_session_timeout_ms", "standby.session.timeout.ms",
         properties.standby_enabled, "`standby.enabled=true`"),
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
        is_set = field in properties.model_fields_set
        default = type(properties).model_fields[field].default
        if is_set and not is_used and getattr(properties, field) not in (default, ()):
            yield f"`{name}` has no effect without {condition}."
