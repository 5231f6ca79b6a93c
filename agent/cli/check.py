"""`agent check`: everything around the agent, a line for each finding."""

import click

from agent.config import AgentConfig
from sidecar.cli.findings import check_and_exit, json_option
from sidecar.cli.invocation import Invocation, configuration_options


@click.command("check", short_help="Check the node, the broker and the directories.")
@json_option
@configuration_options
@click.pass_obj
def check(invocation: Invocation[AgentConfig], as_json: bool) -> None:
    """Check everything that `agent run` needs, and print what to do about each fault.

    Changes nothing and may run beside the agent. Exit code 1 when there is a fault, 2 when the
    configuration cannot be used.
    """
    # Imported here: the clients of the broker and the node take long to load.
    from agent.check.checks import CHECKS
    from agent.check.probe import command_probe

    check_and_exit(CHECKS, lambda: command_probe(invocation.config()), as_json=as_json)
