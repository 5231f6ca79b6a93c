"""Converts `kafka.producer.*`, with the names of the Java producer, for librdkafka.

Defaults: all in-sync replicas acknowledge an event (`acks=all`), the broker drops duplicates from
retries (idempotence), and no event expires in the client (`delivery.timeout.ms=0`).

`linger.ms=10` was measured on a shared two-core machine. A backlog of 300,000 events for ten topics
of three partitions takes 6.0 µs of client CPU per event at 5 ms, 6.3 at 10, 6.9 at 20 and 7.8 at 50
(means of four runs, spread ±25 %): full batches do not linger. At 2,000 events/s the median
acknowledgement takes 8, 11, 12 ms at 5, 10, 20 ms; the broker uses 37, 25, 18 % of a core.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from sidecar.errors import ConfigError
from sidecar.sinks.kafka.config.java_names import (
    ALIASES,
    INERT,
    KNOWN,
    LIBRDKAFKA,
    PREFIX,
    RENAMED,
    SAME,
    TRANSLATED,
    UNSUPPORTED,
)
from sidecar.sinks.kafka.config.security import safety_warnings
from sidecar.sinks.kafka.config.tls_stores import store_config
from sidecar.sinks.kafka.config.translation import translate_settings

DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "acks": "all",
        "batch.size": "1000000",
        "compression.type": "lz4",
        "delivery.timeout.ms": "0",
        "enable.idempotence": "true",
        "linger.ms": "10",
        # The in-flight window is the limit; the client's own limits must be larger.
        "queue.buffering.max.kbytes": str(1 << 20),
        "queue.buffering.max.messages": "1000000",
        # While no broker answers, librdkafka 2.16 restarts from the bootstrap servers, so its
        # back-off does not grow: 1 s means two attempts a second, its default 100 ms twenty.
        "reconnect.backoff.max.ms": "10000",
        "reconnect.backoff.ms": "1000",
        "socket.keepalive.enable": "true",
        # New partitions are used after at most this time.
        "topic.metadata.refresh.interval.ms": "30000",
    }
)


@dataclass(frozen=True, slots=True)
class ClientProperties:
    """librdkafka's configuration, and warnings about settings without effect."""

    config: Mapping[str, str] = field(repr=False)
    warnings: tuple[str, ...]


def client_properties(settings: Mapping[str, str]) -> ClientProperties:
    """Convert settings without the prefix. Raises ConfigError with all mistakes."""
    problems: list[str] = []
    warnings = list(safety_warnings(settings))
    config: dict[str, str] = {}
    for name, value in settings.items():
        if name in SAME or name in LIBRDKAFKA:
            config[name] = value
        elif name in RENAMED:
            config[RENAMED[name]] = value
        elif name in INERT:
            warnings.append(f"`{PREFIX}{name}` has no effect: {INERT[name]}.")
        elif name in UNSUPPORTED:
            problems.append(f"`{PREFIX}{name}` cannot be used: {UNSUPPORTED[name]}.")
        elif name not in TRANSLATED:
            problems.append(
                f"`{PREFIX}{name}` is not a setting of a Kafka producer{_nearest(name)}."
            )
    translations, mistakes = translate_settings(settings)
    config.update(translations)
    problems.extend(mistakes)
    if problems:
        raise ConfigError(*problems)
    return ClientProperties(MappingProxyType(_with_defaults(config)), tuple(warnings))


def client_config(settings: Mapping[str, str]) -> Mapping[str, str]:
    """Build librdkafka's configuration with the content of Java stores. Raises ConfigError, even
    for an unreadable store."""
    return {**client_properties(settings).config, **store_config(settings)}


def connection(config: Mapping[str, str]) -> dict[str, str | int | float | bool]:
    """Select the connection settings, which every kind of client accepts."""
    prefixes = (
        "bootstrap.",
        "client.",
        "enable.ssl.",
        "reconnect.",
        "sasl.",
        "security.",
        "socket.",
        "ssl.",
    )
    return {name: value for name, value in config.items() if name.startswith(prefixes)}


def consumer_config(
    connection: Mapping[str, Any], group: str, *, reports_end: bool
) -> dict[str, Any]:
    """Configure a consumer that reads all committed records and commits nothing. The client
    requires a group; with `reports_end`, it reports the end of each partition."""
    return {
        **connection,
        "group.id": group,
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        "enable.partition.eof": reports_end,
        "auto.offset.reset": "earliest",
        "log_level": 0,
    }


def _with_defaults(config: dict[str, str]) -> dict[str, str]:
    # librdkafka rejects a setting together with its alias.
    defaults = {n: v for n, v in DEFAULTS.items() if ALIASES.get(n) not in config}
    merged = defaults | config
    if merged["enable.idempotence"].strip().lower() == "false":
        # Without idempotence, only one request at a time preserves the order.
        merged["max.in.flight.requests.per.connection"] = "1"
    largest = int(merged.get("message.max.bytes", "1000000"))
    if "batch.size" not in config:
        merged["batch.size"] = str(min(largest, int(DEFAULTS["batch.size"])))
    # For an event that never fits, the client would report a full queue forever.
    buffered = max(int(merged["queue.buffering.max.kbytes"]), -(-largest // 1024))
    merged["queue.buffering.max.kbytes"] = str(buffered)
    return merged | _reconnect_pauses(config)


def _reconnect_pauses(config: Mapping[str, str]) -> dict[str, str]:
    """Adjust the default of one back-off to the other, because the client rejects an initial
    back-off above the maximum."""
    first, longest = "reconnect.backoff.ms", "reconnect.backoff.max.ms"
    given = {name: config[name].strip() for name in (first, longest) if name in config}
    if len(given) != 1 or not all(value.isdecimal() for value in given.values()):
        return {}
    if longest in given:
        return {first: str(min(int(DEFAULTS[first]), int(given[longest])))}
    return {longest: str(max(int(DEFAULTS[longest]), int(given[first])))}


def _nearest(name: str) -> str:
    matches = get_close_matches(name, sorted(KNOWN), n=1, cutoff=0.6)
    return f"; the nearest one is `{PREFIX}{matches[0]}`" if matches else ""
