"""Properties of snapshots and of signal channels."""

from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from pydantic import AfterValidator

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.config.values import (
    CollectionName,
    PatternList,
    TopicPart,
    optional,
    renamed,
    text,
)
from mongo_agent.documents import parse_filter
from mongo_agent.snapshot.settings import SnapshotMode, SnapshotSettings
from sidecar.properties.addresses import broker_list
from sidecar.properties.model import PassThrough, Properties, pass_through, prop
from sidecar.properties.types import CommaList, Milliseconds, Unit, words

FILTER_LIST = "snapshot.collection.filter.overrides"


class SnapshotProperties(Properties):
    snapshot_mode: Annotated[SnapshotMode, renamed({"never": "no_data"})] = prop(
        "snapshot.mode",
        default="initial",
        doc="When the agent copies existing documents. `initial`: once, alongside the stream. "
        "`no_data`, or `never`: not at all. `initial_only`: once, then the agent exits. `always`: "
        "at every start. `when_needed`: once, and again if the offset is lost.",
    )
    snapshot_include_list: PatternList = prop(
        "snapshot.include.collection.list",
        default=(),
        doc="Patterns for the `database.collection` names of captured collections to snapshot. "
        "Defaults to all. Snapshots requested by a signal ignore it.",
    )
    snapshot_filter_list: CommaList = prop(
        FILTER_LIST,
        default=(),
        doc="Collections (`database.collection`) whose snapshots use a filter.",
    )
    snapshot_filters: PassThrough = pass_through(
        f"{FILTER_LIST}.",
        doc="Followed by `<database>.<collection>`: filter for that collection in extended JSON, "
        '`{"year": {"$gte": 2024}}`.',
    )
    snapshot_delay_ms: Milliseconds = prop(
        "snapshot.delay.ms",
        default=0,
        doc="Delay between a start and the snapshot; streams do not wait.",
    )
    snapshot_fetch_size: Annotated[int, Unit("documents")] = prop(
        "snapshot.fetch.size",
        default=0,
        ge=0,
        le=(1 << 31) - 1,
        doc="Largest number of documents in one server reply; 0 means as many as fit into about "
        "4 MiB. After a failed reply the agent requests fewer.",
    )
    snapshot_max_threads: int = prop(
        "snapshot.max.threads",
        aliases=["initial.sync.max.threads"],
        default=1,
        ge=1,
        le=256,
        doc="Number of chunks read in parallel, even from the same collection.",
    )
    chunk_size: Annotated[int, Unit("documents")] = prop(
        "incremental.snapshot.chunk.size",
        default=1024,
        ge=1,
        le=(1 << 31) - 1,
        doc="Number of documents in a chunk. Each thread holds one chunk in memory; a restart "
        "repeats at most one chunk per thread.",
    )


def snapshot_settings(properties: SnapshotProperties, captured: Namespaces) -> SnapshotSettings:
    """Create the settings from properties that have no `filter_problems`."""
    return SnapshotSettings(
        mode=properties.snapshot_mode,
        threads=properties.snapshot_max_threads,
        chunk_size=properties.chunk_size,
        fetch_size=properties.snapshot_fetch_size,
        filters=MappingProxyType(dict(properties.snapshot_filters)),
        chosen=Namespaces(include_collections=properties.snapshot_include_list, mode=captured.mode),
        delay_ms=properties.snapshot_delay_ms,
    )


def filter_problems(properties: SnapshotProperties) -> Iterator[str]:
    """Yield errors for invalid filters, unlisted filters, and list entries without a filter."""
    listed = set(properties.snapshot_filter_list)
    for name in sorted(listed - properties.snapshot_filters.keys()):
        yield f"`{FILTER_LIST}` names {name}: `{FILTER_LIST}.{name}` must be set."
    for name, query in properties.snapshot_filters.items():
        if name not in listed:
            yield f"`{FILTER_LIST}.{name}` has no effect until `{FILTER_LIST}` names {name}."
        if "." not in name.strip("."):
            yield f"`{FILTER_LIST}.{name}` must end in `database.collection`."
        try:
            parse_filter(query)
        except ValueError as error:
            yield f'`{FILTER_LIST}.{name}` must be a filter such as {{"year": 2024}}: {error}.'


Channels = Annotated[
    CommaList,
    words(
        ("source", "kafka", "file"),
        "a list of `source`, `kafka` and `file`",
        ". HTTP and the command line are always enabled",
    ),
]


class SignalProperties(Properties):
    """Channels through which a running agent receives signals."""

    signal_channels: Channels = prop(
        "signal.enabled.channels",
        default=("source",),
        doc="Channels for signals besides HTTP and the command line. `source`: inserts into "
        "`signal.data.collection`. `kafka`: the topic `signal.kafka.topic`. `file`: lines of JSON "
        "in `signal.file`.",
    )
    signal_collection: CollectionName | None = optional(
        "signal.data.collection",
        doc="Collection (`database.collection`) of the channel `source`; the agent reads its "
        "changes and never writes to it. By default the channel is off.",
    )
    signal_topic: TopicPart | None = text(
        "signal.kafka.topic",
        doc="Topic of the channel `kafka`; the agent reads messages whose key is `topic.prefix`. "
        "Defaults to `<topic.prefix>-signal`.",
    )
    signal_group: str = text(
        "signal.kafka.groupId",
        default="kafka-signal",
        doc="Consumer group of the channel `kafka`, for the broker's ACLs. The first start reads "
        "from the offset that Debezium's connector committed for the group, else from the "
        "beginning. The agent commits no offset.",
    )
    signal_servers: Annotated[str, AfterValidator(broker_list)] | None = text(
        "signal.kafka.bootstrap.servers",
        doc="Brokers of the channel `kafka`. Defaults to `kafka.producer.bootstrap.servers`.",
    )
    signal_file: Path | None = optional(
        "signal.file",
        doc="File of the channel `file`. The agent needs write access to its directory: it "
        "renames the file, logs a result for each line, and deletes the file once results are "
        "stored.",
    )
    signal_consumer: PassThrough = pass_through(
        "signal.consumer.",
        doc="Security settings of the channel `kafka` under their Java names. Defaults to "
        "`kafka.producer.*`.",
    )
