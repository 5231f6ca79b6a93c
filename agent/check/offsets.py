"""Checks of the stored offsets, as the agent reads them at its start."""

from collections.abc import Iterator

from agent.config.loader import OFFSET_FILE, SNAPSHOT_FILE, AgentConfig
from agent.segments.offsets import NODE_ID_KEY, offsets_from_entries
from agent.snapshot.offsets import snapshot_offsets_from_entries
from sidecar.check.finding import Finding, fault, ok, warning
from sidecar.errors import ConfigError, OffsetStoreError
from sidecar.offsets.properties_store import PropertiesStore

_RESTORE = "Restore the offset files from a copy, or move them away to read all segments again"


def check_offsets(config: AgentConfig, node_id: str | None) -> Iterator[Finding]:
    """`node_id` is the node's host id; None while unknown."""
    properties = config.properties
    directory, prefix = properties.offset_directory, properties.topic_prefix
    if not directory.is_dir():
        return
    try:
        stored = PropertiesStore(directory, OFFSET_FILE, prefix).load()
        snapshots = PropertiesStore(directory, SNAPSHOT_FILE, prefix).load()
        owner = stored.values.get(NODE_ID_KEY)
        offsets = offsets_from_entries(stored.values, node_id or owner or "")
        if not properties.schema_file:
            snapshot_offsets_from_entries(snapshots.values, node_id or owner or "")
    except ConfigError as error:
        yield fault(
            "offsets",
            str(error),
            "Run `agent offsets accept-prefix` or `agent offsets reset --snapshots`, as the "
            "message says. Until then the agent exits with code 2.",
            code="offsets_source_mismatch",
        )
        return
    except OffsetStoreError as error:
        remedy = f"{_RESTORE}. Until then the agent exits with code 1."
        yield fault("offsets", str(error), remedy, code="offsets_unreadable")
        return
    for each in (stored, snapshots):
        if each.recovered_from_previous is not None:
            yield warning(
                "offsets",
                each.recovered_from_previous,
                f"Check for a full or failing disk: df -h {directory}; dmesg.",
                code="offsets_recovered",
            )
    if owner is None:
        yield ok("offsets", "No offsets are stored; the agent starts at the oldest segment.")
    else:
        count = len(offsets.positions) + len(offsets.completed)
        yield ok("offsets", f"Offsets of {count} segments are stored.")
