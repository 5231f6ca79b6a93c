"""Properties of the connection to MongoDB."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import SecretStr

from mongo_agent.config.values import optional, secret, text
from sidecar.properties.model import Properties, prop
from sidecar.properties.types import LowerCase, Milliseconds


class ConnectionProperties(Properties):
    """Address, login, TLS and timeouts of a replica set or mongos."""

    hosts: str | None = text(
        "mongodb.hosts",
        is_per_node=True,
        doc="Seed members of the replica set, or mongos of a sharded cluster: "
        "`host:port,host:port`, or `rs0/host:port,…` with the name of the replica set. The driver "
        "discovers the other members.",
    )
    connection_string: SecretStr | None = secret(
        "mongodb.connection.string",
        doc="Connection string, `mongodb://…` or `mongodb+srv://…`, with any option of MongoDB's "
        "drivers; replaces `mongodb.hosts`. Properties that are set override its options. Its "
        "`readPreference` applies to streams and snapshots; by default the agent reads from the "
        "primary.",
    )
    user: str | None = text("mongodb.user", doc="User name.")
    password: SecretStr | None = secret(
        "mongodb.password",
        doc="Password of `mongodb.user`; `${file:/path}` and `${env:NAME}` keep it out of this "
        "file.",
    )
    auth_source: str | None = text(
        "mongodb.authsource",
        doc="Database that defines the user. Defaults to the value in the connection string, else "
        "`admin`.",
    )
    ssl_enabled: bool = prop(
        "mongodb.ssl.enabled",
        default=False,
        doc="Whether the connection uses TLS; a connection string can also enable it.",
    )
    ssl_invalid_hostname_allowed: bool = prop(
        "mongodb.ssl.invalid.hostname.allowed",
        default=False,
        doc="Whether the agent accepts a server certificate with a different host name.",
    )
    ssl_truststore: Path | None = optional(
        "mongodb.ssl.truststore",
        doc="Java truststore (PKCS12 or JKS) with the CA certificates that verify servers. "
        "Defaults to `mongodb.ssl.ca.path`, else the system CAs.",
    )
    ssl_truststore_password: SecretStr | None = secret(
        "mongodb.ssl.truststore.password", doc="Password of `mongodb.ssl.truststore`."
    )
    ssl_keystore: Path | None = optional(
        "mongodb.ssl.keystore",
        doc="Java keystore (PKCS12 or JKS) with the client certificate and its key, for servers "
        "that require one. Defaults to `mongodb.ssl.certificate.path`.",
    )
    ssl_keystore_password: SecretStr | None = secret(
        "mongodb.ssl.keystore.password", doc="Password of `mongodb.ssl.keystore` and of its key."
    )
    ssl_ca_path: Path | None = optional(
        "mongodb.ssl.ca.path",
        doc="PEM file with the CA certificates that verify servers. Defaults to the system CAs.",
    )
    ssl_certificate_path: Path | None = optional(
        "mongodb.ssl.certificate.path",
        doc="PEM file with the client certificate and its key, for servers that require one.",
    )
    ssl_key_password: SecretStr | None = secret(
        "mongodb.ssl.key.password", doc="Password of the key in `mongodb.ssl.certificate.path`."
    )
    members_auto_discover: bool = prop(
        "mongodb.members.auto.discover",
        default=True,
        doc="`false`: the agent uses only the address in `mongodb.hosts`, for example a proxy. "
        "After an election it does not search for the new primary.",
    )
    deployment: Annotated[Literal["auto", "replica_set", "mongos", "shard"], LowerCase] = prop(
        "mongodb.deployment",
        default="auto",
        doc="Deployment that the agent accepts. `auto`: a replica set, or a sharded cluster "
        "through a mongos. `replica_set`, `mongos`: only that kind. `shard`: the replica set of "
        "one shard. Each shard then needs an agent. Events of different shards are ordered only by "
        "cluster time; after a chunk migration, another agent reads its documents.",
    )
    connection_mode: Annotated[Literal["replica_set", "sharded"] | None, LowerCase] = optional(
        "mongodb.connection.mode",
        doc="How the agent reads a sharded cluster. `sharded`: one stream through the configured "
        "mongos. `replica_set`: the agent finds its shard through the configured mongos or config "
        "servers and connects to it; task 0 reads a plain replica set. By default "
        "`mongodb.deployment` decides.",
    )
    tasks_max: int = prop(
        "tasks.max",
        default=1,
        ge=1,
        doc="Number of tasks with `mongodb.connection.mode=replica_set`. Each is a separate "
        "process that reads one shard. A shard without a task makes all tasks unhealthy; a task "
        "without a shard waits for a shard.",
    )
    task_id: int = prop(
        "task.id",
        default=0,
        ge=0,
        is_per_node=True,
        doc="Number of this task, from 0; in Kubernetes the ordinal of the pod.",
    )
    poll_interval_ms: Milliseconds = prop(
        "mongodb.poll.interval.ms",
        default=30_000,
        gt=0,
        doc="Interval at which a task without a shard queries the list of shards.",
    )
    connect_timeout_ms: Milliseconds = prop(
        "mongodb.connect.timeout.ms", default=10_000, gt=0, doc="Timeout of one connection attempt."
    )
    socket_timeout_ms: Milliseconds = prop(
        "mongodb.socket.timeout.ms", default=0, doc="Timeout of one reply; 0 means no timeout."
    )
    server_selection_timeout_ms: Milliseconds = prop(
        "mongodb.server.selection.timeout.ms",
        default=30_000,
        gt=0,
        doc="Timeout for a suitable server to become available; a longer wait is a connection "
        "failure.",
    )
    heartbeat_frequency_ms: Milliseconds = prop(
        "mongodb.heartbeat.frequency.ms",
        default=10_000,
        ge=500,
        doc="Interval at which the driver checks the state of the servers.",
    )
    backoff_initial_delay_ms: Milliseconds = prop(
        "connect.backoff.initial.delay.ms",
        default=1000,
        gt=0,
        doc="Pause after the first connection failure; it doubles after each further failure.",
    )
    backoff_max_delay_ms: Milliseconds = prop(
        "connect.backoff.max.delay.ms",
        default=120_000,
        gt=0,
        doc="Longest pause between connection attempts.",
    )
    max_attempts: int = prop(
        "connect.max.attempts",
        default=16,
        ge=1,
        doc="Consecutive connection failures after which the agent exits with code 1.",
    )
