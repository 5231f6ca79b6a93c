"""Properties of snapshots."""

from collections.abc import Iterator
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import BeforeValidator

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.config.capture import PatternList
from mongo_agent.documents import parse_filter
from mongo_agent.snapshot.settings import SnapshotMode, SnapshotSettings
from sidecar.properties.model import PassThrough, Properties, pass_through, prop
from sidecar.properties.types import CommaList, Milliseconds, Unit

FILTER_LIST = "snapshot.collection.filter.overrides"


def _mode(value: Any) -> Any:
    """Map `never`, Debezium's older name, to `no_data`."""
    if isinstance(value, str):
        name = value.strip().lower()
        return "no_data" if name == "never" else name
    return value


class SnapshotProperties(Properties):
    snapshot_mode: Annotated[SnapshotMode, BeforeValidator(_mode)] = prop(
        "snapshot.mode",
        default="initial",
        doc="When the agent copies existing documents. `initial`: once, beside the stream. "
        "`no_data`, or `never`: not at all. `initial_only`: once, then the agent exits. `always`: "
        "at every start. `when_needed`: once, and again when the offset is lost.",
    )
    snapshot_include_list: PatternList = prop(
        "snapshot.include.collection.list",
        default=(),
        doc="Patterns over `database.collection` for the captured collections to snapshot. Empty: "
        "all. Snapshots requested by a signal ignore it.",
    )
    snapshot_filter_list: CommaList = prop(
        FILTER_LIST,
        default=(),
        doc="Collections (`database.collection`) whose snapshot uses a filter.",
    )
    snapshot_filters: PassThrough = pass_through(
        f"{FILTER_LIST}.",
        doc="Followed by `<database>.<collection>`: filter of that collection in extended JSON, "
        '`{"year": {"$gte": 2024}}`.',
    )
    snapshot_delay_ms: Milliseconds = prop(
        "snapshot.delay.ms",
        default=0,
        doc="Delay of a snapshot after a start; streams do not wait.",
    )
    snapshot_fetch_size: Annotated[int, Unit("documents")] = prop(
        "snapshot.fetch.size",
        default=0,
        ge=0,
        le=(1 << 31) - 1,
        doc="Most documents in one reply of the server; 0: as many as fit into about 4 MiB. "
        "After a failed reply the agent asks for fewer.",
    )
    snapshot_max_threads: int = prop(
        "snapshot.max.threads",
        aliases=["initial.sync.max.threads"],
        default=1,
        ge=1,
        le=256,
        doc="Chunks read in parallel, also of one collection.",
    )
    chunk_size: Annotated[int, Unit("documents")] = prop(
        "incremental.snapshot.chunk.size",
        default=1024,
        ge=1,
        le=(1 << 31) - 1,
        doc="Documents in a chunk. Each thread holds one chunk in memory; a restart repeats at "
        "most one chunk for each thread.",
    )


def snapshot_settings(properties: SnapshotProperties, captured: Namespaces) -> SnapshotSettings:
    """The settings of properties without `filter_problems`."""
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
    """Errors of invalid filters, and of filters and list entries without each other."""
    listed = set(properties.snapshot_filter_list)
    for name in sorted(listed - properties.snapshot_filters.keys()):
        yield f"`{FILTER_LIST}` names {name}: `{FILTER_LIST}.{name}` must be set."
    for name, text in properties.snapshot_filters.items():
        if name not in listed:
            yield f"`{FILTER_LIST}.{name}` has no effect until `{FILTER_LIST}` names {name}."
        if "." not in name.strip("."):
            yield f"`{FILTER_LIST}.{name}` must end in `database.collection`."
        try:
            parse_filter(text)
        except ValueError as error:
            yield f'`{FILTER_LIST}.{name}` must be a filter such as {{"year": 2024}}: {error}.'
