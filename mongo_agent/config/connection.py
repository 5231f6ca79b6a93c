"""How the agent reaches MongoDB, and how long it waits for it."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import SecretStr

from sidecar.properties import LowerCase, Milliseconds, Properties, UpperCase, prop

StoreType = Literal["PKCS12", "JKS"]


class ConnectionProperties(Properties):
    """The replica set, or the mongos, beside the agent."""

    hosts: str | None = prop(
        "mongodb.hosts",
        default=None,
        min_length=1,
        doc="Members to ask first: `host:port,host:port`, or `rs0/host:port,…` with the name of "
        "the replica set; the others are found by them. For a sharded cluster its mongos.",
    )
    connection_string: SecretStr | None = prop(
        "mongodb.connection.string",
        default=None,
        secret=True,
        doc="The same as a connection string, `mongodb://…` or `mongodb+srv://…`, with any option "
        "of MongoDB's drivers; the properties here that are set count more than it. Streams and "
        "copies are read as its `readPreference` says, from the primary without one.",
    )
    user: str | None = prop("mongodb.user", default=None, min_length=1, doc="User.")
    password: SecretStr | None = prop(
        "mongodb.password",
        default=None,
        secret=True,
        doc="Password of that user; `${file:/path}` and `${env:NAME}` keep it out of this file.",
    )
    auth_source: str | None = prop(
        "mongodb.authsource",
        default=None,
        min_length=1,
        doc="Database that the user is defined in. Not set: what the connection string says, else "
        "`admin`.",
    )
    ssl_enabled: bool = prop(
        "mongodb.ssl.enabled",
        default=False,
        doc="Whether the connection is encrypted by TLS; a connection string can say so too.",
    )
    ssl_invalid_hostname_allowed: bool = prop(
        "mongodb.ssl.invalid.hostname.allowed",
        default=False,
        doc="Whether a server is believed whose certificate names another host.",
    )
    ssl_truststore: Path | None = prop(
        "mongodb.ssl.truststore",
        default=None,
        doc="Store of Java (PKCS12 or JKS) with the authorities that servers' certificates are "
        "checked against. Not set: `mongodb.ssl.ca.path`, else those of the system.",
    )
    ssl_truststore_password: SecretStr | None = prop(
        "mongodb.ssl.truststore.password", default=None, secret=True, doc="Password of it."
    )
    ssl_truststore_type: Annotated[StoreType, UpperCase] = prop(
        "mongodb.ssl.truststore.type",
        default="PKCS12",
        doc="What Java takes it for; the agent sees by its bytes what it is.",
    )
    ssl_keystore: Path | None = prop(
        "mongodb.ssl.keystore",
        default=None,
        doc="Store of Java (PKCS12 or JKS) with our own certificate and its key, for servers that "
        "ask for one. Not set: `mongodb.ssl.certificate.path`.",
    )
    ssl_keystore_password: SecretStr | None = prop(
        "mongodb.ssl.keystore.password",
        default=None,
        secret=True,
        doc="Password of it and of the key in it.",
    )
    ssl_keystore_type: Annotated[StoreType, UpperCase] = prop(
        "mongodb.ssl.keystore.type",
        default="PKCS12",
        doc="What Java takes it for; the agent sees by its bytes what it is.",
    )
    ssl_ca_path: Path | None = prop(
        "mongodb.ssl.ca.path",
        default=None,
        doc="PEM file with the authorities that servers' certificates are checked against. Not "
        "set: those of the system.",
    )
    ssl_certificate_path: Path | None = prop(
        "mongodb.ssl.certificate.path",
        default=None,
        doc="PEM file with our own certificate and its key, for servers that ask for one.",
    )
    ssl_key_password: SecretStr | None = prop(
        "mongodb.ssl.key.password", default=None, secret=True, doc="Password of that key."
    )
    members_auto_discover: bool = prop(
        "mongodb.members.auto.discover",
        default=True,
        doc="`false`: only the one address in `mongodb.hosts` is used, behind a proxy for "
        "instance. An election then ends the connection to the primary, and nobody looks for the "
        "new one.",
    )
    deployment: Annotated[Literal["auto", "replica_set", "mongos", "shard"], LowerCase] = prop(
        "mongodb.deployment",
        default="auto",
        doc="What the agent may be connected to. `auto`: a replica set, or a sharded cluster "
        "through a mongos. `replica_set`, `mongos`: only that. `shard`: the replica set of one "
        "shard; each shard then needs an agent, order between shards is only by cluster time, and "
        "a chunk that moves takes its documents' order from one agent to another.",
    )
    connect_timeout_ms: Milliseconds = prop(
        "mongodb.connect.timeout.ms",
        default=10_000,
        gt=0,
        doc="How long one connection may take to be made.",
    )
    socket_timeout_ms: Milliseconds = prop(
        "mongodb.socket.timeout.ms",
        default=0,
        doc="How long an answer may take; 0: without end.",
    )
    server_selection_timeout_ms: Milliseconds = prop(
        "mongodb.server.selection.timeout.ms",
        default=30_000,
        gt=0,
        doc="How long a server that can answer is waited for, before that counts as a failure.",
    )
    heartbeat_frequency_ms: Milliseconds = prop(
        "mongodb.heartbeat.frequency.ms",
        default=10_000,
        ge=500,
        doc="How often the state of the servers is looked at.",
    )
    backoff_initial_delay_ms: Milliseconds = prop(
        "connect.backoff.initial.delay.ms",
        default=1000,
        gt=0,
        doc="Pause behind the first failure to connect; it doubles with each one.",
    )
    backoff_max_delay_ms: Milliseconds = prop(
        "connect.backoff.max.delay.ms",
        default=120_000,
        gt=0,
        doc="The longest such pause.",
    )
    max_attempts: int = prop(
        "connect.max.attempts",
        default=16,
        ge=1,
        doc="Failures to connect in a row, behind which the agent ends with exit code 1.",
    )
