"""Types of option values that only the jobs have, each with a plain reason for what it refuses."""

import posixpath
import re
import time
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from sidecar.properties import LONGEST_TOPIC, CommaList, Unit


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TOPIC = re.compile(r"[A-Za-z0-9._-]+")
_TABLE = re.compile(r"\w+\.\w+")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(//)?(.*)", re.DOTALL)
_SECONDS = re.compile(r"(\d+)\s*(s|m|min|h|d)", re.IGNORECASE)
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
_LARGEST_INT = (1 << 31) - 1
_LATEST_S = 100_000_000_000
"""In the year 5138: larger numbers are milliseconds."""
EARLIEST_US = 100_000_000_000_000
"""In 1973: smaller numbers of microseconds are hardly meant."""
_A_DAY_S = 86_400
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS = ("GSSAPI", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_NAMES = _words(
    """
    acks batch.size bootstrap.servers buffer.memory client.dns.lookup client.id compression.type
    connections.max.idle.ms default.api.timeout.ms delivery.timeout.ms enable.idempotence
    fetch.max.bytes fetch.max.wait.ms fetch.min.bytes isolation.level linger.ms max.block.ms
    max.in.flight.requests.per.connection max.partition.fetch.bytes max.poll.interval.ms
    max.poll.records max.request.size metadata.max.age.ms receive.buffer.bytes
    reconnect.backoff.max.ms reconnect.backoff.ms request.timeout.ms retries retry.backoff.ms
    sasl.client.callback.handler.class sasl.jaas.config sasl.kerberos.service.name
    sasl.login.callback.handler.class sasl.mechanism sasl.oauthbearer.token.endpoint.url
    security.protocol send.buffer.bytes session.timeout.ms ssl.endpoint.identification.algorithm
    ssl.key.password ssl.keystore.key ssl.keystore.location ssl.keystore.password ssl.keystore.type
    ssl.truststore.certificates ssl.truststore.location ssl.truststore.password ssl.truststore.type
    """
)
"""Settings of Kafka's Java clients that are mistyped most easily."""
APART = "name two folders, none inside the other"
_IN_BOTH = ("missing ), unterminated", "unterminated character set", "nothing to repeat")
"""What neither Python nor Java takes for a regular expression."""


def _topic(value: str) -> str:
    if not _TOPIC.fullmatch(value) or value in (".", ".."):
        raise ValueError("must be a topic name: letters, digits, `.`, `_` and `-`")
    if len(value) > LONGEST_TOPIC:
        raise ValueError(
            f"must be at most {LONGEST_TOPIC} characters, as Kafka allows, and has {len(value)}"
        )
    return value


def _topics(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        try:
            _topic(value)
        except ValueError as error:
            hint = "; `topics.pattern` takes a pattern" if re.search(r"[*+?|()\[]", value) else ""
            raise ValueError(f"has `{value}`, which {error}{hint}") from error
    return tuple(dict.fromkeys(values))


def _pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        # Java's expressions have forms that are not Python's.
        if str(error).startswith(_IN_BOTH):
            raise ValueError(f"must be a regular expression: {error}") from error
    return value


def _table(value: str) -> str:
    if not _TABLE.fullmatch(value):
        raise ValueError("must be `keyspace.table`")
    return value


def _tables(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if not _TABLE.fullmatch(value):
            raise ValueError(
                f"must be a list of `keyspace.table` without patterns, and has `{value}`"
            )
    return tuple(dict.fromkeys(values))


def _location(value: str) -> str:
    match = _SCHEME.fullmatch(value)
    rest = value if match is None else match[3]
    if not rest.strip("/ ") and (match is not None or not rest.strip()):
        raise ValueError("must be a folder or a URI with a path, such as `s3a://bucket/folder`")
    return value


def _file(value: Path) -> Path:
    if value.is_dir():
        raise ValueError("must be a file and is a directory")
    if not value.absolute().parent.is_dir():
        raise ValueError(f"must be in a directory that exists; create {value.absolute().parent}")
    return value


def _seconds(value: Any) -> Any:
    match = _SECONDS.fullmatch(value.strip()) if isinstance(value, str) else None
    return value if match is None else int(match[1]) * _UNITS[match[2].lower()]


def _second_of_time(value: int) -> int:
    if value > _LATEST_S:
        raise ValueError("must be seconds since 1970; this is milliseconds or more")
    return value


def _microsecond_of_time(value: int) -> int:
    if value > (time.time() + _A_DAY_S) * 1_000_000:
        raise ValueError("must not be in the future: all that is written up to then would be gone")
    return value


Topic = Annotated[str, AfterValidator(_topic)]
"""A name that Kafka allows."""
TopicList = Annotated[CommaList, AfterValidator(_topics)]
TopicPattern = Annotated[str, AfterValidator(_pattern)]
"""A Java regular expression."""
TableName = Annotated[str, AfterValidator(_table)]
"""`keyspace.table`."""
TableList = Annotated[CommaList, AfterValidator(_tables)]
Location = Annotated[str, AfterValidator(_location)]
"""A folder or a URI that names one."""
WritableFile = Annotated[Path, AfterValidator(_file)]
"""A file that can be made: its directory is there."""
Count = Annotated[int, Field(ge=1, le=_LARGEST_INT)]
"""A number of the JVM's type `int`, at least 1."""
Seconds = Annotated[int, BeforeValidator(_seconds), Unit("seconds")]
"""Seconds: `864000`, `240h`, `10d`."""
SecondOfTime = Annotated[int, Field(ge=0), AfterValidator(_second_of_time)]
MicrosecondOfTime = Annotated[int, Field(ge=0), AfterValidator(_microsecond_of_time)]


def overlap(one: str, other: str) -> bool:
    """Whether one location is the other or inside it, by their text. Delta leaves folders alone
    whose names begin with `_`, where checkpoints often are."""
    first, second = _plain(one), _plain(other)
    outer, inner = sorted((first, second), key=len)
    return inner == outer or (inner.startswith(f"{outer}/") and inner[len(outer) + 1] != "_")


def _plain(location: str) -> str:
    match = _SCHEME.fullmatch(location)
    if match is None or match[1].lower() == "file":
        path = location if match is None else f"/{match[3].lstrip('/')}"
        return posixpath.normpath(path)
    return f"{match[1].lower()}://{posixpath.normpath(match[3])}"


def kafka_problems(prefix: str, settings: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each security setting that Kafka's Java client would refuse, or would not
    use. `prefix` is that of the options, such as `kafka.`."""
    protocol, mechanism = settings.get("security.protocol"), settings.get("sasl.mechanism")
    if protocol is not None and protocol.strip().upper() not in _PROTOCOLS:
        yield (
            f"`{prefix}security.protocol` must be one of {', '.join(_PROTOCOLS)}, not `{protocol}`"
        )
    if mechanism is not None and mechanism.strip().upper() not in _MECHANISMS:
        yield f"`{prefix}sasl.mechanism` must be one of {', '.join(_MECHANISMS)}, not `{mechanism}`"
    if protocol is not None:
        return
    for start, remedy in (("sasl.", "SASL_SSL or SASL_PLAINTEXT"), ("ssl.", "SSL")):
        name = next((name for name in sorted(settings) if name.startswith(start)), None)
        if name is not None:
            yield (
                f"`{prefix}{name}` is set without `{prefix}security.protocol`, so the connection "
                f"would be plaintext: set it to {remedy}"
            )
            return


def kafka_warnings(prefix: str, settings: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each name that is nearly one that Kafka's client knows."""
    for name in sorted(settings.keys() - _NAMES):
        nearest = get_close_matches(name, _NAMES, n=1, cutoff=0.9)
        if nearest:
            yield (
                f"`{prefix}{name}` is no setting that is known here; the nearest one is "
                f"`{prefix}{nearest[0]}`."
            )
