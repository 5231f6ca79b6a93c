"""Checks for features that the configuration requires and the server does not support or enable."""

from collections.abc import Iterator

from pymongo.errors import PyMongoError

from mongo_agent.change_stream.options import StreamOptions, can_read, remedy_of
from mongo_agent.check.probe import MongoProbe
from mongo_agent.config.loading import MongoConfig
from mongo_agent.server.commands import decode_replies
from mongo_agent.server.deployment import Deployment
from mongo_agent.server.releases import (
    IMAGES,
    SNAPSHOT_READS,
    Version,
    reads_streams_in_a_withdrawn_way,
    release_text,
)
from sidecar.check.check import Finding, fault, first_names, warning

_SHOWN = 8
_ENABLE = (
    'In mongosh: db.adminCommand({modifyChangeStreams: 1, database: "", collection: "", '
    "enable: true}) enables them for the cluster; set a database or a collection to enable fewer."
)


def check_features(
    config: MongoConfig, version: Version, options: StreamOptions
) -> Iterator[Finding]:
    """Report what the server does not support; `options` are the detected ones."""
    has_start_after = options.has_start_after
    release = release_text(version)
    server = f"MongoDB {release}"
    newer = "Use MongoDB 6.0 or later"
    if options.is_restricted:
        server += " with a feature compatibility version below 6.0"
        newer = (
            "Complete the upgrade in mongosh: "
            '`db.adminCommand({setFeatureCompatibilityVersion: "6.0"})`, and restart the agent'
        )
    properties = config.properties
    has_snapshot_reads = has_start_after and version >= SNAPSHOT_READS
    if not has_snapshot_reads and properties.snapshot_mode != "no_data":
        reader = server if has_start_after else "A server without `startAfter`"
        yield warning(
            "version",
            f"{reader} does not support reads at a cluster time, so snapshots are consistent only "
            "per document.",
            "Use MongoDB 5.0 or later for snapshots at an exact position of the stream.",
            code="server_without_snapshot_reads",
        )
    if version < IMAGES or options.is_restricted:
        yield from _without_images(config, server, newer)
    if config.stream.shows_expanded_events and not options.shows_expanded_events:
        yield warning(
            "version",
            f"{server} reports only dropped and renamed collections and dropped "
            "databases; `topic.schema.changes` receives no other events.",
            f"{newer}, to receive created collections, indexes and options.",
            code="server_without_expanded_events",
        )
    if reads_streams_in_a_withdrawn_way(version):
        yield warning(
            "version",
            f"MongoDB {release} reads change streams and looks up documents in a way that MongoDB "
            "9.0.2 switched off (SERVER-135099, SERVER-134970).",
            "Upgrade MongoDB to 9.0.2 or later.",
            code="server_with_withdrawn_reader",
        )
    mode = properties.oversize_handling
    if mode != "fail" and not can_read(mode, options.large_events):
        yield warning(
            "version",
            f"MongoDB {release} cannot {mode} events larger than 16 MB; one such event stops the "
            "agent.",
            remedy_of(mode, options.large_events),
            code="server_without_split_events",
        )


def _without_images(config: MongoConfig, server: str, newer: str) -> Iterator[Finding]:
    wanted = []
    if config.stream.full_document_before != "off":
        wanted.append("`capture.mode`")
    if config.stream.full_document == "whenAvailable":
        wanted.append("`capture.mode.full.update.type`")
    if wanted:
        names = " and ".join(wanted)
        message = f"{server} has no pre- and post-images; {names} requires them."
        remedy = f"{newer}, or remove the property."
        yield fault("version", message, remedy, code="server_without_pre_images")


def check_enabled_streams(probe: MongoProbe, deployment: Deployment) -> Iterator[Finding]:
    """Check that Amazon DocumentDB records the changes of the captured collections.

    `modifyChangeStreams` enables streams for a collection, a database or the cluster. A stream of
    other collections opens but stays empty. There is no finding if the database cannot list them.
    """
    if probe.options().has_start_after:
        return
    try:
        with decode_replies():
            entries = probe.client.admin.aggregate([{"$listChangeStreams": 1}])
            enabled = {(each.get("database", ""), each.get("collection", "")) for each in entries}
    except PyMongoError:
        return
    missing = [
        each.namespace
        for each in probe.captured
        if enabled.isdisjoint({("", ""), (each.database, ""), (each.database, each.name)})
    ]
    if missing:
        yield fault(
            "enabled streams",
            f"Change streams are disabled for {first_names(missing, _SHOWN)}; the agent receives "
            "none of their changes.",
            _ENABLE,
            code="change_streams_disabled",
        )
