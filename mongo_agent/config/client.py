"""Settings of the MongoDB client. They contain secrets, which `repr` omits."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import SecretStr
from pymongo import MongoClient

from mongo_agent.config.addresses import (
    HOSTS,
    REJECTIONS,
    SRV,
    STRING,
    hosts_problem,
    of_set,
    split_hosts_value,
    string_options,
    string_problem,
)
from mongo_agent.config.connection import ConnectionProperties
from mongo_agent.server.commands import select_server
from mongo_agent.server.deployment import LOAD_BALANCED
from sidecar.errors import ConfigError
from sidecar.files.regular import read_bounded
from sidecar.properties.types import MASK
from sidecar.tls.store_file import MAX_BYTES, MemoryFile, StoreFile, read_identity, read_trusted

_PEM = b"-----BEGIN "
_APPLICATION = "mongo-agent"
_SELECTION = "serverSelectionTimeoutMS"
_SECRETS = ("password", "tlsCertificateKeyFilePassword")


@dataclass(frozen=True)
class ClientSettings:
    """`options` are keyword arguments of `pymongo.MongoClient`; `address` is for messages."""

    address: str
    options: Mapping[str, Any] = field(repr=False)
    files: tuple[MemoryFile, ...] = field(default=(), repr=False)
    """In-memory files that options refer to."""

    def prompt(self, answer_ms: int) -> dict[str, Any]:
        """Return options for an interactive command, which waits at most `answer_ms` for a server.

        An explicit timeout in the connection string takes precedence.
        """
        waits_ms = self.options.get(_SELECTION)
        if waits_ms is None and _SELECTION.lower() in str(self.options["host"]).lower():
            return dict(self.options)
        return {**self.options, _SELECTION: min(answer_ms, waits_ms or answer_ms)}


def client_settings(properties: ConnectionProperties) -> ClientSettings:
    """Create the settings from properties that have no `connection_problems`."""
    options: dict[str, Any] = {"appname": _APPLICATION, "server_selector": select_server}
    if properties.connection_string is not None:
        uri = properties.connection_string.get_secret_value().strip()
        options["host"] = uri
        # A password may contain a slash, and settings that are read again are not checked.
        address = uri.partition("://")[2].rpartition("@")[2].partition("/")[0].partition("?")[0]
    else:
        replica_set, members = split_hosts_value(properties.hosts or "")
        address = members
        options["host"] = members.split(",")
        if replica_set:
            options["replicaSet"] = replica_set
        if not properties.members_auto_discover:
            options["directConnection"] = True
    of_stores = {
        option: MemoryFile(option, content) for option, content in _read_stores(properties).items()
    }
    options |= _given(properties) | _times(properties)
    options |= {option: file.path for option, file in of_stores.items()}
    return ClientSettings(address, MappingProxyType(options), tuple(of_stores.values()))


def settings_of_set(
    settings: ClientSettings, replica_set: str, members: Sequence[str]
) -> ClientSettings:
    """Replace the addresses with the members of a replica set."""
    options = {**settings.options, "replicaSet": replica_set}
    options.pop("directConnection", None)
    address = ",".join(members)
    host = options["host"]
    options["host"] = of_set(host, members) if isinstance(host, str) else list(members)
    return ClientSettings(address, MappingProxyType(options), settings.files)


def client_problem(settings: ClientSettings) -> str | None:
    """Return the driver's error about the combined options, or None. Opens no connection."""
    if str(settings.options["host"]).startswith(SRV):
        # Even an unused client resolves the name.
        return None
    try:
        with warnings.catch_warnings():
            # `string_warnings` reports the warnings by property.
            warnings.simplefilter("ignore")
            client: MongoClient[Any] = MongoClient(**settings.options, connect=False)
    except REJECTIONS as error:
        reason = str(error).splitlines()[0].rstrip(".")
        secrets = [str(settings.options.get(name, "")) for name in _SECRETS]
        for secret in filter(None, secrets):
            reason = reason.replace(secret, MASK)
        if isinstance(settings.options["host"], str):
            return f"{STRING} and the properties `mongodb.*` contradict each other: {reason}."
        return f"MongoDB's driver rejects the properties `mongodb.*`: {reason}."
    client.close()
    return None


def connection_problems(properties: ConnectionProperties) -> Iterator[str]:
    if properties.hosts is None and properties.connection_string is None:
        yield f"{HOSTS} or {STRING} must be set to the address of MongoDB."
    if properties.hosts is not None and properties.connection_string is not None:
        yield f"{HOSTS} and {STRING} are mutually exclusive. Remove one of them."
    if properties.hosts is not None:
        yield from _hosts_problems(properties.hosts, properties.members_auto_discover)
    if properties.connection_string is not None:
        yield from _string_problems(properties)
    if properties.password is not None and properties.user is None:
        yield "`mongodb.password` is set without `mongodb.user`. Set both or neither."
    if properties.user is not None and properties.password is None:
        yield "`mongodb.user` is set without `mongodb.password`. Set both or neither."
    if properties.password is not None and not properties.password.get_secret_value():
        yield "`mongodb.password` is empty. Set it, or remove it and `mongodb.user`."
    yield from _tls_problems(properties)
    if properties.backoff_initial_delay_ms > properties.backoff_max_delay_ms:
        yield (
            "`connect.backoff.initial.delay.ms` must not be larger than "
            "`connect.backoff.max.delay.ms`."
        )


def _hosts_problems(text: str, is_discovering: bool) -> Iterator[str]:
    problem = hosts_problem(text)
    if problem is not None:
        yield problem
        return
    replica_set, members = split_hosts_value(text)
    if not is_discovering and not replica_set:
        yield (
            "`mongodb.members.auto.discover=false` requires the name of the replica set in "
            f"{HOSTS}: `rs0/host:port`."
        )
    if not is_discovering and "," in members:
        yield f"`mongodb.members.auto.discover=false` requires exactly one address in {HOSTS}."


def _string_problems(properties: ConnectionProperties) -> Iterator[str]:
    if not properties.members_auto_discover:
        yield (
            f"`mongodb.members.auto.discover=false` requires {HOSTS}; in a connection string use "
            "`directConnection=true`."
        )
    assert properties.connection_string is not None
    uri = properties.connection_string.get_secret_value()
    problem = string_problem(uri, has_login=properties.user is not None)
    if problem is not None:
        yield problem
    elif string_options(uri).get("loadBalanced"):
        yield f"{STRING} has {LOAD_BALANCED}"


def _tls_problems(properties: ConnectionProperties) -> Iterator[str]:
    pem_files = (
        ("mongodb.ssl.ca.path", properties.ssl_ca_path),
        ("mongodb.ssl.certificate.path", properties.ssl_certificate_path),
    )
    stores = (
        ("mongodb.ssl.truststore", properties.ssl_truststore),
        ("mongodb.ssl.keystore", properties.ssl_keystore),
    )
    for name, path in (*pem_files, *stores):
        if path is not None and properties.hosts is not None and not properties.ssl_enabled:
            yield f"`{name}` requires `mongodb.ssl.enabled=true`. Enable TLS or remove it."
    for name, path in pem_files:
        if path is not None:
            yield from _pem_problems(name, path)
    for (pem_name, pem), (name, path) in zip(pem_files, stores, strict=True):
        if pem is not None and path is not None:
            yield f"`{name}` and `{pem_name}` are mutually exclusive. Remove one of them."
    try:
        _read_stores(properties)
    except ConfigError as error:
        yield from error.problems


def _read_stores(properties: ConnectionProperties) -> dict[str, bytes]:
    """Convert Java stores to PEM content, by driver option. Raises ConfigError."""
    found: dict[str, bytes] = {}
    if properties.ssl_truststore is not None:
        store = _store(properties.ssl_truststore, properties.ssl_truststore_password)
        found["tlsCAFile"] = read_trusted("mongodb.ssl.truststore", store)
    if properties.ssl_keystore is not None:
        store = _store(properties.ssl_keystore, properties.ssl_keystore_password)
        found["tlsCertificateKeyFile"] = read_identity("mongodb.ssl.keystore", store).identity
    return found


def _store(path: Path, password: SecretStr | None) -> StoreFile:
    return StoreFile(path, "" if password is None else password.get_secret_value())


def _pem_problems(name: str, path: Path) -> Iterator[str]:
    try:
        content = read_bounded(path, MAX_BYTES)
    except OSError as error:
        yield f"`{name}`: {path} cannot be read: {error.strerror}. Check path and permissions."
        return
    if _PEM not in content:
        yield (
            f"`{name}`: {path} is not a PEM file. Use `mongodb.ssl.keystore` and "
            "`mongodb.ssl.truststore` for Java stores."
        )


def _given(properties: ConnectionProperties) -> dict[str, Any]:
    """Collect the options for properties that are set."""
    options: dict[str, Any] = {}
    for option, value in (
        ("username", properties.user),
        ("password", properties.password),
        ("authSource", properties.auth_source),
        ("tlsCAFile", properties.ssl_ca_path),
        ("tlsCertificateKeyFile", properties.ssl_certificate_path),
        ("tlsCertificateKeyFilePassword", properties.ssl_key_password),
    ):
        if value is not None:
            text = value.get_secret_value() if isinstance(value, SecretStr) else str(value)
            options[option] = text
    if properties.ssl_enabled:
        options["tls"] = True
    if properties.ssl_invalid_hostname_allowed and (
        properties.ssl_enabled or properties.connection_string is not None
    ):
        options["tlsAllowInvalidHostnames"] = True
    return options


def _times(properties: ConnectionProperties) -> dict[str, Any]:
    """Collect the timeouts that are set, and their defaults if there is no connection string."""
    times = {
        "connect_timeout_ms": ("connectTimeoutMS", properties.connect_timeout_ms),
        "socket_timeout_ms": ("socketTimeoutMS", properties.socket_timeout_ms),
        "server_selection_timeout_ms": (_SELECTION, properties.server_selection_timeout_ms),
        "heartbeat_frequency_ms": ("heartbeatFrequencyMS", properties.heartbeat_frequency_ms),
    }
    return {
        option: value_ms
        for field_name, (option, value_ms) in times.items()
        if properties.connection_string is None or field_name in properties.model_fields_set
    }
