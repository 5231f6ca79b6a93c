"""`agent offsets import`: begin where Debezium's connector ended."""

from pathlib import Path

import click
import javaproperties

from agent.cdc_raw import observe
from agent.config import OFFSET_FILE, AgentConfig
from agent.debezium.offsets import FILE, offsets_from_debezium, table_offsets
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.errors import ConfigError, UnavailableError
from sidecar.files.locks import DirectoryLock
from sidecar.offsets import PropertiesStore

_IDENTITY_S = 30.0


@click.command("import", short_help="Take over the progress of Debezium's connector.")
@configuration_options
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, path_type=Path),
    required=True,
    help=f"Its offset.backing.store.dir, or {FILE} in it.",
)
@click.option("--replace", is_flag=True, help="Put it in the place of progress that is there.")
@click.pass_obj
def import_(invocation: Invocation[AgentConfig], source: Path, replace: bool) -> None:
    """Store the lowest of the connector's offsets as the progress of this agent.

    Stop the connector first. Events of tables that were further are sent again, with the same ids.
    """
    config = invocation.usable_config()
    file = source / FILE if source.is_dir() else source
    try:
        entries = javaproperties.loads(file.read_text(encoding="latin-1"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} cannot be read: {error}.") from error
    offsets = table_offsets(entries)
    directory = config.properties.offset_directory
    with DirectoryLock(config.cdc_raw_directory, directory):
        store = PropertiesStore(directory, OFFSET_FILE, config.properties.topic_prefix)
        if store.load().values and not replace:
            raise ConfigError(
                f"{store.path} has progress already. Give --replace to put the connector's in its "
                "place."
            )
        present = [seen.name for seen in observe(config.cdc_raw_directory).segments]
        ledger = offsets_from_debezium(offsets, present, _node_id(config))
        store.save(ledger.to_entries())
    lowest = offsets[0]
    click.echo(
        f"The agent begins in {lowest.segment.log} at {lowest.position}, the offset of "
        f"{lowest.table}; {len(offsets) - 1} other tables were as far or further, and "
        f"{len(ledger.completed)} older segments in cdc_raw are done. It is stored in {store.path}."
    )


def _node_id(config: AgentConfig) -> str:
    """From `node.id` or the node. Raises UnavailableError while that does not answer."""
    # Imported here: the driver takes long to load.
    from agent.schema import create_schema_holder

    holder = create_schema_holder(config)
    holder.start()
    try:
        if not holder.wait_until_known(_IDENTITY_S) or holder.identity is None:
            raise UnavailableError(f"The node does not say who it is: {holder.last_error}")
        return holder.identity.node_id
    finally:
        holder.close()
