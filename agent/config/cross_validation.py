"""Errors and warnings about combinations of properties, and about overlapping directories."""

from collections.abc import Iterator
from pathlib import Path

from agent.config.model import AgentProperties
from agent.config.node_settings import NodeSettings
from sidecar.files.directories import is_inside, overlap_problems
from sidecar.store.registry import STORES, store_kind


def cross_validation_problems(properties: AgentProperties) -> Iterator[str]:
    if properties.cdc_raw_directory is None and properties.cassandra_config is None:
        yield "`cassandra.config` or `cdc.raw.directory` must be set, to locate `cdc_raw`."
    yield from _unused_tls(properties)
    if (properties.cassandra_username is None) != (properties.cassandra_password is None):
        yield "`cassandra.username` and `cassandra.password` must be set together."
    if properties.keystore_path is not None and not properties.keystore_path.is_absolute():
        yield "`commit.log.keystore.path` must be an absolute path."
    if properties.has_source_of_v1 and properties.event_layout != "debezium-1.x":
        yield (
            f"`sourceinfo.struct.maker={properties.sourceinfo_struct_maker}` is the format of "
            "Debezium 1.x. Set `event.layout=debezium-1.x` too."
        )
    if properties.schema_file is not None:
        for name, is_set, needed in (
            ("accord.journal.enabled", properties.accord_journal_enabled, "column ids"),
            ("watermark.topic", properties.watermark_topic is not None, "replicated ranges"),
        ):
            if is_set:
                yield (
                    f"`{name}` needs the {needed} from the node, but with `schema.file` the agent "
                    "does not connect to it. Remove one of them."
                )
    if properties.schema_changes_topic is not None and not properties.include_schema_changes:
        yield (
            f"`schema.changes.topic={properties.schema_changes_topic}` needs "
            "`include.schema.changes=true`. Set it, or remove the topic."
        )
    if properties.event_source_epoch and properties.event_layout != "debezium-3":
        yield (
            f"`event.source.epoch` adds a field that `event.layout={properties.event_layout}` does "
            "not have. Set one of them to its default."
        )
    yield from _store(properties)
    yield from properties.store_problems()
    if properties.skipped_letters == {"i", "u", "d", "r"} and properties.snapshot_mode == "never":
        yield (
            "`skipped.operations` skips every change and `snapshot.mode=never` every existing row, "
            "so the agent would publish nothing. Change one of them."
        )
    yield from properties.converter_problems()


def _store(properties: AgentProperties) -> Iterator[str]:
    kind, directory = STORES.get(properties.transfer), properties.remote_directory
    if kind is None:
        return
    if directory is None:
        yield (
            f"`remote.commit.log.relocation.dir` must be set ({kind.example}) for "
            f"`commit.log.transfer.class={kind.name.upper()}`."
        )
    elif directory.scheme not in kind.schemes:
        yield (
            f"`remote.commit.log.relocation.dir` must be {kind.example} for "
            f"`commit.log.transfer.class={kind.name.upper()}`, not {directory}."
        )


def _skipped_operations(properties: AgentProperties) -> Iterator[str]:
    skipped = properties.skipped_letters
    deletions = [f"`{letter}`" for letter in ("d", "r") if letter in skipped]
    if deletions:
        yield (
            f"`skipped.operations` skips deletions ({' and '.join(deletions)}): tables that "
            "`spark_jobs.reconcile` or another consumer builds from the events keep deleted rows."
        )
    elif skipped:
        yield (
            "`skipped.operations` skips writes: they are missing from tables that "
            "`spark_jobs.reconcile` or another consumer builds from the events."
        )
    is_envelope = properties.event_op_style == "envelope"
    if is_envelope and "r" not in skipped and "t" in properties.skipped_operations:
        yield (
            "`t` in `skipped.operations` means truncations and skips nothing. Use `r` to skip "
            "deletions of ranges, whose events have the letter `t` with `event.op.style=envelope`."
        )


_TLS_FILES = {
    "cassandra_ssl_config_path": "cassandra.ssl.config.path",
    "cassandra_ssl_ca_path": "cassandra.ssl.ca.path",
    "cassandra_ssl_certificate_path": "cassandra.ssl.certificate.path",
    "cassandra_ssl_key_path": "cassandra.ssl.key.path",
    "cassandra_ssl_key_password": "cassandra.ssl.key.password",
}


def _tls_properties(properties: AgentProperties) -> list[str]:
    """Lists TLS properties that are set although TLS is off."""
    if properties.cassandra_ssl_enabled:
        return []
    return [name for field, name in _TLS_FILES.items() if getattr(properties, field) is not None]


def _unused_tls(properties: AgentProperties) -> Iterator[str]:
    """Rejects TLS settings without `cassandra.ssl.enabled`: CQL passwords would be plaintext."""
    if "cassandra_ssl_enabled" in properties.model_fields_set:
        return
    for name in _tls_properties(properties):
        yield (
            f"`{name}` is set but `cassandra.ssl.enabled` is not, so CQL would be plaintext. Set "
            "`cassandra.ssl.enabled=true`, or `false` for plaintext."
        )


def cross_validation_warnings(properties: AgentProperties) -> Iterator[str]:
    is_remote = properties.transfer in STORES
    if properties.remote_directory is not None and not is_remote:
        name = store_kind(properties.remote_directory).name.upper()
        yield (
            "`remote.commit.log.relocation.dir` has no effect without "
            f"`commit.log.transfer.class={name}`."
        )
    if is_remote and not properties.post_processing_enabled:
        yield (
            "`commit.log.post.processing.enabled=false`: finished segments are archived in "
            "`commit.log.relocation.dir` but not sent."
        )
    yield from _skipped_operations(properties)
    is_explicit = "snapshot_mode" in properties.model_fields_set
    if properties.schema_file and is_explicit and properties.snapshot_mode != "never":
        yield (
            f"`snapshot.mode={properties.snapshot_mode}` has no effect with `schema.file`, because "
            "the agent does not connect to the node. Set `snapshot.mode=never`."
        )
    if properties.snapshot_consistency == "NODE_LOCAL" and properties.snapshot_ranges != "replica":
        yield (
            f"`snapshot.consistency=NODE_LOCAL` with `snapshot.ranges={properties.snapshot_ranges}`"
            " misses rows that this node does not store but another replica does. Set "
            "`snapshot.ranges=replica` on every node."
        )
    for name in _tls_properties(properties):
        yield f"`{name}` has no effect with `cassandra.ssl.enabled=false`: CQL is plaintext."
    if properties.cassandra_ssl_enabled and not properties.cassandra_ssl_check_hostname:
        yield (
            "`cassandra.ssl.check.hostname=false`: the agent accepts any host with a trusted "
            "certificate."
        )


_SUBDIRECTORIES = ("archive", "upload", "error")
"""Directories that the agent creates in `commit.log.relocation.dir`."""


def directory_conflicts(
    cdc_raw: Path, properties: AgentProperties, node: NodeSettings | None
) -> Iterator[str]:
    ours = [
        ("commit.log.relocation.dir", properties.relocation_directory),
        ("offset.backing.store.dir", properties.offset_directory),
    ]
    if properties.sink == "file" and properties.file_path is not None:
        ours.append(("file.path", properties.file_path))
    yield from overlap_problems(
        ("cdc_raw", cdc_raw),
        ours,
        "the agent would mistake its own files for the node's files",
    )
    for name in _SUBDIRECTORIES:
        directory = properties.relocation_directory / name
        if is_inside(cdc_raw, directory):
            yield (
                f"commit.log.relocation.dir: {cdc_raw} (`cdc_raw`) is inside its directory "
                f"`{name}`, where the agent moves and deletes segments. Use a different directory."
            )
    commit_log = node.commitlog_directory if node is not None else None
    if commit_log is not None and is_inside(cdc_raw, commit_log) and is_inside(commit_log, cdc_raw):
        yield (
            f"cdc.raw.directory: {cdc_raw} is the node's commitlog_directory. The agent would "
            "delete segments that the node still needs. Use its cdc_raw_directory."
        )
