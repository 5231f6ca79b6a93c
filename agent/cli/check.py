"""`agent check`: everything around the agent, as a table of findings."""

import sys

import click

from agent.config import AgentConfig
from sidecar.cli.findings import show_findings
from sidecar.cli.invocation import Invocation, configuration_options


@click.command("check", short_help="Look at the node, the broker and the directories.")
@configuration_options
@click.pass_obj
def check(invocation: Invocation[AgentConfig]) -> None:
    """Say of everything that the agent needs whether it is right, and what to do where it is not.

    Changes nothing and may run beside the agent. Exit code 1 when there is a fault.
    """
    # Imported here: the clients of the broker and the node take long to load.
    from agent.check.survey import run_checks

    sys.exit(show_findings(run_checks(invocation.config())))
