"""`kafka.producer.*` under the names of the Java producer → the configuration of librdkafka.

Defaults: every broker that must have an event has it (`acks=all`), repeats by the client itself
are recognised (idempotence), and the client never gives an event up (`delivery.timeout.ms=0`).

`linger.ms=10` by measurement on a shared two-core machine. A backlog of 300,000 events to ten
topics of three partitions costs the client 6.0 µs of CPU an event at 5 ms, 6.3 at 10, 6.9 at 20 and
7.8 at 50 (means of four runs, spread ±25 %): full batches need no waiting. At 2,000 events/s an
event is acknowledged after 8, 11, 12 ms (median) at 5, 10, 20 ms, and the broker uses 37, 25, 18 %
of a core, which is what a longer wait saves.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path, PurePath
from types import MappingProxyType

from sidecar.errors import ConfigError
from sidecar.properties.addresses import broker_list
from sidecar.sinks.kafka.config.java_names import (
    INERT,
    KNOWN,
    LIBRDKAFKA,
    REFUSED,
    RENAMED,
    SAME,
    TRANSLATED,
)
from sidecar.sinks.kafka.config.security import safety_warnings
from sidecar.sinks.kafka.config.tls_stores import KEYSTORE, TRUSTSTORE, store_config
from sidecar.tls.store_file import StoreFile

PREFIX = "kafka.producer."

DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "acks": "all",
        "batch.size": "1000000",
        "compression.type": "lz4",
        "delivery.timeout.ms": "0",
        "enable.idempotence": "true",
        "linger.ms": "10",
        # The window bounds what waits; the client's own bounds must not be met first.
        "queue.buffering.max.kbytes": str(1 << 20),
        "queue.buffering.max.messages": "1000000",
        # While no broker answers, librdkafka 2.16 starts again from the bootstrap servers, so its
        # pauses do not grow: 1 s gives two attempts a second, its own 100 ms nearly twenty.
        "reconnect.backoff.max.ms": "10000",
        "reconnect.backoff.ms": "1000",
        "socket.keepalive.enable": "true",
        # New partitions are used after this time.
        "topic.metadata.refresh.interval.ms": "30000",
    }
)

_LOGIN = re.compile(r"^\s*(\S+)\s+(required|requisite|sufficient|optional)\b(.*);\s*$", re.DOTALL)
_OPTION = re.compile(r"""(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(\S+))""")
_LOGIN_MODULES = {
    "org.apache.kafka.common.security.plain.PlainLoginModule": "PLAIN",
    "org.apache.kafka.common.security.scram.ScramLoginModule": "SCRAM",
}
_LARGEST = (1 << 31) - 1
_NUMBERS = frozenset(
    name
    for name in SAME | RENAMED.keys() | LIBRDKAFKA
    if name.endswith((".ms", ".bytes", ".size", ".messages", ".kbytes", ".level", "retries"))
)
_SECURITY_PROTOCOLS = {"plaintext", "ssl", "sasl_plaintext", "sasl_ssl"}


@dataclass(frozen=True, slots=True)
class ClientProperties:
    """librdkafka's configuration, and sentences about settings that have no effect."""

    config: Mapping[str, str] = field(repr=False)
    warnings: tuple[str, ...]
    trust: StoreFile | None = None
    """A store that has to be read for the client."""
    identity: StoreFile | None = None


def client_properties(settings: Mapping[str, str]) -> ClientProperties:
    """`settings` have no prefix. Raises ConfigError with a sentence for each mistake."""
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
        elif name in REFUSED:
            problems.append(f"`{PREFIX}{name}` cannot be used: {REFUSED[name]}.")
        elif name not in TRANSLATED:
            problems.append(f"`{PREFIX}{name}` is no setting of a Kafka producer{_nearest(name)}.")
    for translate in _TRANSLATIONS:
        try:
            config.update(translate(settings))
        except ValueError as error:
            problems.append(f"{error}.")
    if problems:
        raise ConfigError(*problems)
    return ClientProperties(
        MappingProxyType(_with_defaults(config)),
        tuple(warnings),
        _java_trust(settings),
        _java_identity(settings),
    )


def client_config(settings: Mapping[str, str]) -> Mapping[str, str]:
    """librdkafka's configuration with what Java's stores hold. Raises ConfigError, also for a store
    that cannot be read."""
    found = client_properties(settings)
    return {**found.config, **store_config(PREFIX, found.trust, found.identity)}


def connection(config: Mapping[str, str]) -> dict[str, str | int | float | bool]:
    """The part of a configuration that says how a broker is reached; every client takes it."""
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


def _with_defaults(config: dict[str, str]) -> dict[str, str]:
    # A setting and its other name in librdkafka must not both be given.
    aliases = {
        "compression.type": "compression.codec",
        "delivery.timeout.ms": "message.timeout.ms",
        "linger.ms": "queue.buffering.max.ms",
    }
    defaults = {n: v for n, v in DEFAULTS.items() if aliases.get(n) not in config}
    merged = defaults | config
    if merged["enable.idempotence"].strip().lower() == "false":
        # Without sequence numbers only one request at a time keeps the order.
        merged["max.in.flight.requests.per.connection"] = "1"
    largest = int(merged.get("message.max.bytes", "1000000"))
    if "batch.size" not in config:
        merged["batch.size"] = str(min(largest, int(DEFAULTS["batch.size"])))
    return merged | _reconnect_pauses(config)


def _reconnect_pauses(config: Mapping[str, str]) -> dict[str, str]:
    """The default of one pause follows the other; the client refuses a first one that is longer
    than the longest."""
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


def _acks(settings: Mapping[str, str]) -> dict[str, str]:
    acks = settings.get("acks", "all").strip().lower()
    if acks not in ("all", "-1"):
        raise ValueError(
            f"`{PREFIX}acks` must be `all`, not `{acks}`: an event that only one broker has can be "
            "lost after its progress is saved"
        )
    return {"acks": "all"}


def _buffers(settings: Mapping[str, str]) -> dict[str, str]:
    config = {}
    if "buffer.memory" in settings:
        kbytes = _number("buffer.memory", settings["buffer.memory"]) // 1024
        config["queue.buffering.max.kbytes"] = str(max(1, kbytes))
    for java, client in (
        ("send.buffer.bytes", "socket.send.buffer.bytes"),
        ("receive.buffer.bytes", "socket.receive.buffer.bytes"),
    ):
        if java in settings:
            # -1 asks the Java client for the system's size, 0 asks librdkafka for it.
            config[client] = str(max(0, _number(java, settings[java])))
    for name in ("batch.size", "linger.ms", "max.request.size", "message.max.bytes"):
        if name in settings:
            _number(name, settings[name])
    return config


def _sizes(settings: Mapping[str, str]) -> dict[str, str]:
    # The client would take the low bits of a larger number.
    for name, text in settings.items():
        if name in _NUMBERS and re.fullmatch(r"\s*\d+\s*", text) and int(text) > _LARGEST:
            raise ValueError(f"`{PREFIX}{name}` must be at most {_LARGEST}, not `{text}`")
    return {}


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise ValueError(f"`{PREFIX}{name}` must be a whole number, not `{text}`") from error


def _security(settings: Mapping[str, str]) -> dict[str, str]:
    protocol = settings.get("security.protocol")
    if protocol is not None and protocol.strip().lower() not in _SECURITY_PROTOCOLS:
        raise ValueError(
            f"`{PREFIX}security.protocol` must be one of PLAINTEXT, SSL, SASL_PLAINTEXT and "
            f"SASL_SSL, not `{protocol}`"
        )
    return {} if protocol is None else {"security.protocol": protocol.strip().lower()}


def _jaas(settings: Mapping[str, str]) -> dict[str, str]:
    """`…PlainLoginModule required username="a" password="b";` → user name and password."""
    if "sasl.jaas.config" not in settings:
        return {}
    where = f"`{PREFIX}sasl.jaas.config`"
    match = _LOGIN.match(settings["sasl.jaas.config"])
    if match is None:
        raise ValueError(f'{where} must read `<login module> required name="value" …;`')
    kind = _LOGIN_MODULES.get(match[1])
    if kind is None:
        raise ValueError(
            f"{where} names {match[1]}; only PlainLoginModule and ScramLoginModule are translated. "
            f"For others set librdkafka's own `{PREFIX}sasl.*` names"
        )
    options = {
        option[1]: re.sub(r"\\(.)", r"\1", option[2] or option[3] or option[4] or "")
        for option in _OPTION.finditer(match[3])
    }
    if "username" not in options or "password" not in options:
        raise ValueError(f"{where} must have a username and a password")
    mechanism = settings.get("sasl.mechanism", settings.get("sasl.mechanisms", ""))
    if not mechanism.upper().startswith(kind):
        raise ValueError(
            f"{where} is for {kind}, but `{PREFIX}sasl.mechanism` is `{mechanism or 'GSSAPI'}`"
        )
    return {"sasl.username": options["username"], "sasl.password": options["password"]}


def _trust(settings: Mapping[str, str]) -> dict[str, str]:
    location = settings.get(TRUSTSTORE)
    if not location or _store_type(location, settings.get("ssl.truststore.type")) != "PEM":
        return {}
    return {"ssl.ca.location": location}


def _identity(settings: Mapping[str, str]) -> dict[str, str]:
    location = settings.get(KEYSTORE)
    if not location:
        return {}
    match _store_type(location, settings.get("ssl.keystore.type")):
        case "PEM":
            return {"ssl.certificate.location": location, "ssl.key.location": location}
        case "PKCS12":
            password = settings.get("ssl.keystore.password", "")
            return {"ssl.keystore.location": location, "ssl.keystore.password": password}
        case _:
            return {}


def _java_trust(settings: Mapping[str, str]) -> StoreFile | None:
    """The trust store, where the client cannot read it."""
    location = settings.get(TRUSTSTORE)
    if not location or _trust(settings):
        return None
    return StoreFile(Path(location), settings.get("ssl.truststore.password"))


def _java_identity(settings: Mapping[str, str]) -> StoreFile | None:
    """The key store, where the client cannot read it."""
    location = settings.get(KEYSTORE)
    if not location or _identity(settings):
        return None
    return StoreFile(
        Path(location), settings.get("ssl.keystore.password"), settings.get("ssl.key.password")
    )


def _store_type(location: str, declared: str | None) -> str:
    if declared:
        return declared.strip().upper()
    suffix = PurePath(location).suffix.lower()
    if suffix in (".pem", ".crt", ".cer"):
        return "PEM"
    return "PKCS12" if suffix in (".p12", ".pfx") else "JKS"


def _host_check(settings: Mapping[str, str]) -> dict[str, str]:
    name = "ssl.endpoint.identification.algorithm"
    # Empty switches the check off in Java, `none` does in librdkafka.
    return {name: settings[name].strip().lower() or "none"} if name in settings else {}


def _servers(settings: Mapping[str, str]) -> dict[str, str]:
    # An empty list is refused where the sink is chosen, for only one of the sinks needs it.
    if settings.get("bootstrap.servers"):
        try:
            broker_list(settings["bootstrap.servers"])
        except ValueError as error:
            raise ValueError(f"`{PREFIX}bootstrap.servers` {error}") from error
    return {}


_TRANSLATIONS: tuple[Callable[[Mapping[str, str]], dict[str, str]], ...] = (
    _servers,
    _acks,
    _sizes,
    _buffers,
    _security,
    _jaas,
    _trust,
    _identity,
    _host_check,
)
