"""`agent truncations`: acknowledge truncations and drops of tables."""

from dataclasses import dataclass

import click

from agent.config.loader import AgentConfig, directory_problems
from agent.node.truncations import Acknowledgements
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.output import MessageReport, json_output, print_message
from sidecar.errors import ConfigError


@dataclass(frozen=True, slots=True)
class AcknowledgedTruncations(MessageReport):
    """The tables whose truncations the command acknowledged."""

    tables: tuple[str, ...]


@click.group("truncations", short_help="Acknowledge truncations of tables.")
@configuration_options
def truncations() -> None:
    """Acknowledge truncations, which send no events. `agent check` lists them."""


@truncations.command("acknowledge", short_help="Stop reporting truncated tables.")
@configuration_options
@click.argument("tables", nargs=-1, required=True, metavar="KEYSPACE.TABLE…")
@json_output(AcknowledgedTruncations)
@click.pass_obj
def acknowledge(invocation: Invocation[AgentConfig], tables: tuple[str, ...]) -> None:
    """Stop reporting truncations of tables up to now. First delete the rows in all targets.

    A running agent notices within a minute.
    """
    config = invocation.config()
    problems = directory_problems(config)
    malformed = [f"{name}: use KEYSPACE.TABLE." for name in tables if "." not in name]
    if problems or malformed:
        raise ConfigError(*problems, *malformed)
    Acknowledgements(config.properties.offset_directory).acknowledge(tables)
    message = f"All truncations of {', '.join(tables)} up to now are acknowledged."
    print_message(invocation, AcknowledgedTruncations(message, tables))
