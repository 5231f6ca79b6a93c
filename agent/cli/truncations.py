"""`agent truncations`: acknowledge truncations of tables."""

from dataclasses import dataclass

import click

from agent.config.loader import AgentConfig, directory_problems
from agent.node.truncations import Acknowledgements
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.output import MessageReport, json_output, print_message
from sidecar.errors import ConfigError


@dataclass(frozen=True, slots=True)
class AcknowledgedTruncations(MessageReport):
    """The tables of a command."""

    tables: tuple[str, ...]


@click.group("truncations", short_help="Acknowledge truncations of tables.")
@configuration_options
def truncations() -> None:
    """Acknowledge truncations, which have no event. `agent check` lists them."""


@truncations.command("acknowledge", short_help="End the report of truncated tables.")
@configuration_options
@click.argument("tables", nargs=-1, required=True, metavar="KEYSPACE.TABLE…")
@json_output(AcknowledgedTruncations)
@click.pass_obj
def acknowledge(invocation: Invocation[AgentConfig], tables: tuple[str, ...]) -> None:
    """End the report of all truncations of tables until now, after the targets follow them.

    A running agent takes note within a minute.
    """
    config = invocation.config()
    problems = directory_problems(config)
    malformed = [f"{name}: use KEYSPACE.TABLE." for name in tables if "." not in name]
    if problems or malformed:
        raise ConfigError(*problems, *malformed)
    Acknowledgements(config.properties.offset_directory).acknowledge(tables)
    message = f"The truncations of {', '.join(tables)} until now are acknowledged."
    print_message(invocation, AcknowledgedTruncations(message, tables))
