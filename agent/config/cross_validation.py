"""Faults and warnings of properties that are right one by one and not together."""

from collections.abc import Iterator

from agent.config.model import AgentProperties


def cross_validation_problems(properties: AgentProperties) -> Iterator[str]:
    """What is wrong with properties that are right one by one."""
    if properties.cdc_raw_directory is None and properties.cassandra_config is None:
        yield "`cassandra.config` or `cdc.raw.directory` must be set: one says where `cdc_raw` is."
    yield from _unused_tls(properties)
    if (properties.cassandra_username is None) != (properties.cassandra_password is None):
        yield "`cassandra.username` and `cassandra.password` must be set together."
    if properties.keystore_path is not None and not properties.keystore_path.is_absolute():
        yield "`commit.log.keystore.path` must be an absolute path."
    if properties.transfer == "gcs" and properties.remote_directory is None:
        yield (
            "`remote.commit.log.relocation.dir` must be set (gs://bucket/prefix) for "
            "`commit.log.transfer.class=GCS`."
        )
    yield from properties.converter_problems()


_TLS_FILES = {
    "cassandra_ssl_config_path": "cassandra.ssl.config.path",
    "cassandra_ssl_ca_path": "cassandra.ssl.ca.path",
    "cassandra_ssl_certificate_path": "cassandra.ssl.certificate.path",
    "cassandra_ssl_key_path": "cassandra.ssl.key.path",
    "cassandra_ssl_key_password": "cassandra.ssl.key.password",
}


def _tls_properties(properties: AgentProperties) -> list[str]:
    """The TLS properties that are set while TLS is off."""
    if properties.cassandra_ssl_enabled:
        return []
    return [name for field, name in _TLS_FILES.items() if getattr(properties, field) is not None]


def _unused_tls(properties: AgentProperties) -> Iterator[str]:
    """TLS that is set up and not on: the password would be sent as plain text."""
    if "cassandra_ssl_enabled" in properties.model_fields_set:
        return
    for name in _tls_properties(properties):
        yield (
            f"`{name}` is set and `cassandra.ssl.enabled` is not: the connection would be "
            "plaintext. Set `cassandra.ssl.enabled=true`, or `false` for plaintext."
        )


def cross_validation_warnings(properties: AgentProperties) -> Iterator[str]:
    if properties.transfer != "gcs" and properties.remote_directory is not None:
        yield (
            "`remote.commit.log.relocation.dir` has no effect without "
            "`commit.log.transfer.class=GCS`."
        )
    if properties.transfer == "gcs" and not properties.post_processing_enabled:
        yield (
            "`commit.log.post.processing.enabled=false`: finished segments stay in "
            "`commit.log.relocation.dir`, and nothing is sent."
        )
    is_asked_for = "snapshot_mode" in properties.model_fields_set
    if properties.schema_file and is_asked_for and properties.snapshot_mode != "never":
        yield (
            f"`snapshot.mode={properties.snapshot_mode}` copies nothing with `schema.file`, where "
            "the node is not asked; `snapshot.mode=never` says so."
        )
    for name in _tls_properties(properties):
        yield f"`{name}` has no effect with `cassandra.ssl.enabled=false`: CQL is plaintext."
    if properties.cassandra_ssl_enabled and not properties.cassandra_ssl_check_hostname:
        yield (
            "`cassandra.ssl.check.hostname=false`: any node with a trusted certificate is believed."
        )
