"""Features that the configuration needs and the MongoDB release lacks."""

from collections.abc import Iterator

from mongo_agent.config.loading import MongoConfig
from sidecar.check.finding import Finding, fault, warning

_SNAPSHOT_READS = (5, 0)
_IMAGES = (6, 0)
_SPLIT = (6, 0, 9)


def check_features(
    config: MongoConfig, version: tuple[int, ...], *, has_start_after: bool = True
) -> Iterator[Finding]:
    """Check the release; no finding if it supports everything."""
    release = ".".join(map(str, version))
    properties = config.properties
    if not has_start_after and properties.snapshot_mode != "no_data":
        yield fault(
            "version",
            f"`snapshot.mode={properties.snapshot_mode}`: this server reports MongoDB {release} "
            "but has no `startAfter`, as Amazon DocumentDB. The agent takes no snapshots there.",
            "Set `snapshot.mode=no_data`, and copy existing documents by another tool.",
            code="server_without_snapshots",
        )
    elif version < _SNAPSHOT_READS and properties.snapshot_mode != "no_data":
        yield warning(
            "version",
            f"MongoDB {release} does not support reads at a cluster time, so the agent orders "
            "snapshots by key.",
            "Use MongoDB 5.0 or later for snapshots at an exact position of the stream.",
            code="server_without_snapshot_reads",
        )
    if version < _IMAGES:
        yield from _without_images(config, release)
    if version < _SPLIT and properties.oversize_handling == "split":
        yield warning(
            "version",
            f"MongoDB {release} cannot split events larger than 16 MB; one such event stops the "
            "agent.",
            "Use MongoDB 6.0.9 or later, or set `cursor.oversize.handling.mode=skip`.",
            code="server_without_split_events",
        )


def _without_images(config: MongoConfig, release: str) -> Iterator[Finding]:
    wanted = [
        f"`{name}`"
        for name, is_wanted in (
            ("capture.mode", config.stream.full_document_before != "off"),
            ("capture.mode.full.update.type", config.stream.full_document == "whenAvailable"),
            ("topic.schema.changes", config.stream.shows_expanded_events),
        )
        if is_wanted
    ]
    if wanted:
        yield fault(
            "version",
            f"MongoDB {release} has no pre- and post-images and no events of indexes and options; "
            f"{' and '.join(wanted)} requires them.",
            "Use MongoDB 6.0 or later, or remove the property.",
            code="server_without_pre_images",
        )
