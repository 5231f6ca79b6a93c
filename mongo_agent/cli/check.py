"""`mongo-agent check`: everything around the agent, a line for each finding."""

from contextlib import ExitStack

import click

from mongo_agent.config import MongoConfig
from sidecar.cli.findings import check_and_exit, json_option
from sidecar.cli.invocation import Invocation, configuration_options


@click.command("check", short_help="Check MongoDB, the broker and the directory.")
@json_option
@configuration_options
@click.pass_obj
def check(invocation: Invocation[MongoConfig], as_json: bool) -> None:
    """Check everything that `mongo-agent run` needs, and print what to do about each fault.

    Changes nothing and may run beside the agent. Exit code 1 when there is a fault, 2 when the
    configuration cannot be used.
    """
    # Imported here: the broker's client takes long to load.
    from mongo_agent.check.checks import CHECKS
    from mongo_agent.check.probe import asking_probe

    with ExitStack() as stack:
        check_and_exit(
            CHECKS,
            lambda: stack.enter_context(asking_probe(invocation.config())),
            as_json=as_json,
        )
