"""Settings of Confluent's Avro and Protobuf converters that a registry client needs.

The names come from `io.confluent.kafka.serializers.AbstractKafkaSchemaSerDeConfig`, with the prefix
`key.converter.` or `value.converter.`.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit, urlunsplit

from sidecar.errors import ConfigError
from sidecar.schema_registry.tls import TlsSettings
from sidecar.tls.store_file import StoreFile


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STRATEGIES = "io.confluent.kafka.serializers.subject."
_NO_EFFECT = _names(
    """
    connect.meta.data enhanced.avro.schema.support flatten.unions latest.cache.size
    latest.cache.ttl.sec max.schemas.per.subject schema.cache.size schemas.cache.config
    schemas.cache.size schemas.enable
    """
)
_PROTOBUF_NO_EFFECT = _names(
    """
    enhanced.protobuf.schema.support generate.index.for.unions generate.struct.for.nulls
    int.for.enums reference.lookup.only reference.subject.name.strategy schema.format
    scrub.invalid.names skip.known.types wrapper.for.raw.primitives
    """
)
_OPTIONAL = "optional.for.nullables"
_WRAPPER = "wrapper.for.nullables"
_KNOWN = _names(
    """
    auto.register.schemas basic.auth.credentials.source basic.auth.user.info
    bearer.auth.credentials.source bearer.auth.token normalize.schemas request.timeout.ms
    schema.registry.basic.auth.user.info schema.registry.url use.latest.version
    """
)
_SSL = "schema.registry.ssl."
_SSL_KNOWN = _names(
    """
    endpoint.identification.algorithm key.password keystore.password keystore.location
    keystore.type truststore.location truststore.password truststore.type
    """
)
_STORE_TYPES = ("JKS", "PKCS12", "PEM")
_TIMEOUT_MS = 10_000


SchemaType = Literal["AVRO", "PROTOBUF"]
"""`schemaType` in the registry's API."""
_CONVERTERS: Mapping[SchemaType, str] = {"AVRO": "Avro", "PROTOBUF": "Protobuf"}


class Strategy(Enum):
    TOPIC = "TopicNameStrategy"
    RECORD = "RecordNameStrategy"
    TOPIC_RECORD = "TopicRecordNameStrategy"

    def subject(self, topic: str, side: Literal["key", "value"], record: str) -> str:
        """Return the subject; `record` is the record's full name."""
        match self:
            case Strategy.TOPIC:
                return f"{topic}-{side}"
            case Strategy.RECORD:
                return record
            case Strategy.TOPIC_RECORD:
                return f"{topic}-{record}"


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """Address and credentials of the registry, and how the agent looks up or registers schemas."""

    urls: tuple[str, ...]
    """Tried in turn; without user and password."""
    schema_type: SchemaType = "AVRO"
    strategy: Strategy = Strategy.TOPIC
    auto_register: bool = True
    use_latest: bool = False
    normalize: bool = False
    user_info: str | None = None
    """`user:password`."""
    token: str | None = None
    timeout_s: float = _TIMEOUT_MS / 1000
    """Timeout of one answer."""
    tls: TlsSettings = field(default_factory=TlsSettings)

    def __repr__(self) -> str:
        return f"RegistrySettings({', '.join(self.urls)})"


def registry_settings(
    prefix: str,
    settings: Mapping[str, str],
    side: Literal["key", "value"],
    schema_type: SchemaType = "AVRO",
) -> RegistrySettings:
    """Parse settings under `prefix`, such as `value.converter.`. Raises ConfigError with all
    mistakes."""
    reader = SettingsReader(prefix, settings)
    strategy = f"{side}.subject.name.strategy"
    converter = _CONVERTERS[schema_type]
    known = {strategy, *_KNOWN, *_NO_EFFECT, *(f"{_SSL}{name}" for name in _SSL_KNOWN)}
    if schema_type == "PROTOBUF":
        known |= {_OPTIONAL, _WRAPPER, *_PROTOBUF_NO_EFFECT}
        _reject_other_nulls(reader)
    reader.reject_unknown(known, converter)
    urls, in_url = _urls(reader, converter)
    user_info, token = _credentials(reader, in_url)
    found = RegistrySettings(
        urls=urls,
        schema_type=schema_type,
        strategy=_strategy(reader, strategy),
        auto_register=reader.flag("auto.register.schemas", True),
        use_latest=reader.flag("use.latest.version", False),
        normalize=reader.flag("normalize.schemas", False),
        user_info=user_info,
        token=token,
        timeout_s=_timeout_s(reader),
        tls=_tls(reader),
    )
    reader.raise_problems()
    return found


def ineffective_settings(
    settings: Mapping[str, str], schema_type: SchemaType = "AVRO"
) -> list[str]:
    known = _NO_EFFECT if schema_type == "AVRO" else _NO_EFFECT | _PROTOBUF_NO_EFFECT
    return sorted(settings.keys() & known)


class SettingsReader:
    """Reads the settings of a converter under `prefix`, and collects all mistakes."""

    def __init__(self, prefix: str, settings: Mapping[str, str]) -> None:
        self.prefix = prefix
        self.settings = {name: text.strip() for name, text in settings.items()}
        self.problems: list[str] = []

    def text(self, name: str) -> str | None:
        return self.settings.get(name) or None

    def flag(self, name: str, default: bool) -> bool:
        text = self.settings.get(name, str(default)).lower()
        if text not in ("true", "false"):
            self.reject(name, f"must be `true` or `false`, not `{text}`")
        return text == "true"

    def reject(self, name: str, why: str) -> None:
        self.problems.append(f"`{self.prefix}{name}` {why}.")

    def reject_unknown(self, known: Set[str], converter: str) -> None:
        for name in sorted(self.settings.keys() - known):
            self.reject(name, f"is not a known setting of the {converter} converter")

    def raise_problems(self) -> None:
        if self.problems:
            raise ConfigError(*self.problems)


def _reject_other_nulls(reader: SettingsReader) -> None:
    """Accept only one form of nullable fields, because otherwise null and 0 would be the same."""
    why = "the agent writes nullable fields as `optional`, which the same readers accept"
    if not reader.flag(_OPTIONAL, True):
        reader.reject(_OPTIONAL, f"must be `true`: {why}, and without it null and 0 are the same")
    if reader.flag(_WRAPPER, False):
        reader.reject(_WRAPPER, f"must be `false`: {why}")


def _urls(reader: SettingsReader, converter: str) -> tuple[tuple[str, ...], str | None]:
    """Return addresses without credentials, and the first credentials among them."""
    name = "schema.registry.url"
    urls, in_url = [], None
    for text in (reader.text(name) or "").split(","):
        if not text.strip():
            continue
        parts = urlsplit(text.strip())
        if parts.scheme not in ("http", "https") or not parts.hostname:
            reader.reject(
                name,
                f"must be a list of addresses such as `http://registry:8081`, "
                f"not `{parts.hostname or text.strip()}`",
            )
            continue
        try:
            _ = parts.port
        except ValueError:
            port = parts.netloc.rpartition(":")[2]
            reader.reject(name, f"has the port `{port}`: ports are 1 to 65535")
            continue
        user, at, address = parts.netloc.rpartition("@")
        if at and in_url is None:
            in_url = unquote(user)
        plain = urlunsplit((parts.scheme, address, parts.path.rstrip("/"), "", ""))
        urls.append(plain)
    if not urls and not reader.problems:
        reader.reject(name, f"must be set for the {converter} converter")
    return tuple(urls), in_url


def _credentials(reader: SettingsReader, in_url: str | None) -> tuple[str | None, str | None]:
    """Return `user:password` and a token; either may be None."""
    source_name = "basic.auth.credentials.source"
    source = (reader.text(source_name) or "URL").upper()
    user_info = in_url
    if source == "USER_INFO":
        name = "basic.auth.user.info"
        user_info = reader.text(name) or reader.text(f"schema.registry.{name}")
        if user_info is None or ":" not in user_info:
            reader.reject(name, f"must be `user:password`, since `{source_name}` is `USER_INFO`")
    elif source != "URL":
        reader.reject(source_name, f"must be `URL` or `USER_INFO`, not `{source}`")
    bearer_name = "bearer.auth.credentials.source"
    bearer = (reader.text(bearer_name) or "").upper()
    token = reader.text("bearer.auth.token") if bearer == "STATIC_TOKEN" else None
    if bearer not in ("", "STATIC_TOKEN"):
        reader.reject(bearer_name, f"must be `STATIC_TOKEN`, not `{bearer}`")
    elif bearer and token is None:
        reader.reject("bearer.auth.token", f"must be set, since `{bearer_name}` is `STATIC_TOKEN`")
    return user_info, token


def _strategy(reader: SettingsReader, name: str) -> Strategy:
    text = reader.settings.get(name, Strategy.TOPIC.value).removeprefix(_STRATEGIES)
    known = {strategy.value: strategy for strategy in Strategy}
    if text not in known:
        reader.reject(name, f"must be one of {', '.join(known)}, not `{text}`")
    return known.get(text, Strategy.TOPIC)


def _timeout_s(reader: SettingsReader) -> float:
    text = reader.settings.get("request.timeout.ms", str(_TIMEOUT_MS))
    if not text.isdecimal() or int(text) == 0:
        reader.reject("request.timeout.ms", "must be a whole number of milliseconds above 0")
        return _TIMEOUT_MS / 1000
    return int(text) / 1000


def _tls(reader: SettingsReader) -> TlsSettings:
    host_check = f"{_SSL}endpoint.identification.algorithm"
    algorithm = reader.settings.get(host_check, "https").lower()
    if algorithm not in ("", "https"):
        reader.reject(
            host_check,
            f"must be `https`, or empty to skip the check of host names, not `{algorithm}`",
        )
    return TlsSettings(
        prefix=f"{reader.prefix}{_SSL}",
        trust=_store(reader, "truststore"),
        identity=_store(reader, "keystore"),
        checks_hostname=algorithm != "",
    )


def _store(reader: SettingsReader, kind: Literal["truststore", "keystore"]) -> StoreFile | None:
    store = f"{_SSL}{kind}"
    declared = reader.text(f"{store}.type")
    if declared is not None and declared.upper() not in _STORE_TYPES:
        known = ", ".join(_STORE_TYPES)
        reader.reject(f"{store}.type", f"must be one of {known}, not `{declared}`")
    location = reader.text(f"{store}.location")
    if location is None:
        return None
    path = Path(location)
    if not path.is_file():
        reader.reject(f"{store}.location", f"names the file {location}, which does not exist")
    key_password = reader.text(f"{_SSL}key.password") if kind == "keystore" else None
    return StoreFile(path, reader.text(f"{store}.password"), key_password)
