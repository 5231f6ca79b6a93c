"""`mongo-agent check`: everything around the agent, as a table of findings."""

import sys

import click

from mongo_agent.config import MongoConfig
from sidecar.cli.findings import show_findings
from sidecar.cli.invocation import Invocation, configuration_options


@click.command("check", short_help="Look at MongoDB, the broker and the directory.")
@configuration_options
@click.pass_obj
def check(invocation: Invocation[MongoConfig]) -> None:
    """Say of everything that the agent needs whether it is right, and what to do where it is not.

    Changes nothing and may run beside the agent. Exit code 1 when there is a fault.
    """
    # Imported here: the broker's client takes long to load.
    from mongo_agent.check.survey import run_checks

    sys.exit(show_findings(run_checks(invocation.config())))
