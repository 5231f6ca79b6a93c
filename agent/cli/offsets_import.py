"""`agent offsets import`: resume where Debezium's connector stopped.

`commitlog_offset.properties` contains one entry `keyspace.table=SEGMENT:POSITION` for each table:
all events of the table up to the position are acknowledged. As in the agent's offsets, a position
is the logical end of a mutation. The agent uses one offset for all tables, so it starts at the
lowest offset. It repeats events that the connector sent after this offset.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import click
import javaproperties

from agent.cdc_raw.names import SegmentName, parse_log_name
from agent.cdc_raw.observation import observe
from agent.config.loader import AgentConfig
from agent.segments.offsets import SegmentOffsets
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.output import MessageReport, json_output, print_message
from sidecar.errors import ConfigError, UnavailableError
from sidecar.files.locks import DirectoryLock

FILE = "commitlog_offset.properties"


@dataclass(frozen=True, slots=True, order=True)
class TableOffset:
    segment: SegmentName
    position: int
    table: str


def table_offsets(entries: Mapping[str, str]) -> tuple[TableOffset, ...]:
    """Parses offsets and sorts them, lowest first. Raises ConfigError for an invalid entry."""
    return tuple(sorted(_offset(table, value) for table, value in entries.items()))


def offsets_from_debezium(
    offsets: Collection[TableOffset], present: Collection[SegmentName], node_id: str
) -> SegmentOffsets:
    """Returns offsets that start at the lowest offset; older `present` segments are completed.
    Raises ConfigError if `offsets` is empty."""
    if not offsets:
        raise ConfigError(f"{FILE} contains no offset. Check --from.")
    lowest = min(offsets)
    found = SegmentOffsets(node_id).advanced(lowest.segment, lowest.position)
    for name in sorted(present):
        if name < lowest.segment:
            found = found.finished(name)
    return found


def _offset(table: str, value: str) -> TableOffset:
    file, _, position = value.rpartition(":")
    segment = parse_log_name(file)
    if segment is None or not (position.isascii() and position.isdigit()):
        raise ConfigError(
            f"{FILE}: the entry `{table}={value}` is not `keyspace.table=SEGMENT:POSITION`."
        )
    return TableOffset(segment, int(position), table)


_NODE_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class ImportedOffsets(MessageReport):
    """The offset from which the agent starts."""

    segment: str
    position: int
    table: str
    """The table with the lowest offset."""
    tables: int
    """Number of tables with an offset."""
    completed_segments: int
    """Number of older segments in `cdc_raw`, which are not read again."""
    file: str


@click.command("import", short_help="Import the offsets of Debezium's connector.")
@configuration_options
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, path_type=Path),
    required=True,
    help=f"offset.backing.store.dir of the connector, or its {FILE}.",
)
@click.option("--replace", is_flag=True, help="Overwrite offsets that are already stored.")
@json_output(ImportedOffsets)
@click.pass_obj
def import_(invocation: Invocation[AgentConfig], source: Path, replace: bool) -> None:
    """Store the lowest offset of Debezium's connector as the offset of this agent.

    Stop the connector first. The agent repeats events that the connector sent after the lowest
    offset.
    """
    config = invocation.usable_config()
    file = source / FILE if source.is_dir() else source
    try:
        entries = javaproperties.loads(file.read_text(encoding="latin-1"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} cannot be read: {error}.") from error
    found = table_offsets(entries)
    directory = config.properties.offset_directory
    with DirectoryLock(config.cdc_raw_directory, directory, private=directory):
        store, _ = config.state_stores
        if store.load().values and not replace:
            raise ConfigError(f"{store.path}: offsets are already stored. Use --replace.")
        present = [seen.name for seen in observe(config.cdc_raw_directory).segments]
        offsets = offsets_from_debezium(found, present, _node_id(config))
        store.save(offsets.to_entries())
    lowest = found[0]
    message = (
        f"The agent starts in {lowest.segment.log} at position {lowest.position}, the offset of "
        f"{lowest.table} and the lowest of all tables ({len(found)}). Older segments in "
        f"cdc_raw, marked as completed: {len(offsets.completed)}. Stored in {store.path}."
    )
    report = ImportedOffsets(
        message,
        lowest.segment.log,
        lowest.position,
        lowest.table,
        len(found),
        len(offsets.completed),
        str(store.path),
    )
    print_message(invocation, report)


def _node_id(config: AgentConfig) -> str:
    """Returns `node.id`, or the host id of the node. Raises UnavailableError if the node does not
    answer."""
    # Imported here: the driver is slow to load.
    from agent.schema import create_schema_holder

    holder = create_schema_holder(config)
    holder.start()
    try:
        if not holder.wait_until_known(_NODE_TIMEOUT_S) or holder.identity is None:
            raise UnavailableError(f"The node did not report its host id: {holder.last_error}")
        return holder.identity.node_id
    finally:
        holder.close()
