"""`agent check`: checks the environment of the agent."""

import click

from agent.config import AgentConfig
from sidecar.cli.findings import check_and_exit, json_option
from sidecar.cli.invocation import Invocation, configuration_options


@click.command("check", short_help="Check the node, the broker and the directories.")
@json_option
@configuration_options
@click.pass_obj
def check(invocation: Invocation[AgentConfig], as_json: bool) -> None:
    """Check everything that `agent run` needs, and print a remedy for each fault.

    Changes nothing, and can run while the agent runs. Exit code 1: there is a fault; 2: the
    configuration is invalid.
    """
    # Imported here: the clients of broker and node take long to load.
    from agent.check.checks import CHECKS
    from agent.check.probe import command_probe

    check_and_exit(CHECKS, lambda: command_probe(invocation.config()), as_json=as_json)
