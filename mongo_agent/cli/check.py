"""`mongo-agent check`: check the agent's environment, one line for each finding."""

from contextlib import ExitStack

import click

from mongo_agent.config import MongoConfig
from sidecar.cli.findings import check_and_exit, json_option
from sidecar.cli.invocation import Invocation, configuration_options


@click.command("check", short_help="Check MongoDB, the broker and the directories.")
@json_option
@configuration_options
@click.pass_obj
def check(invocation: Invocation[MongoConfig], as_json: bool) -> None:
    """Check everything that `mongo-agent run` needs and print a remedy for each fault.

    Changes nothing and can run beside the agent. Exits with code 1 after a fault and with code 2
    for an invalid configuration.
    """
    # Imported here, because the broker's client loads slowly.
    from mongo_agent.check.checks import CHECKS
    from mongo_agent.check.probe import asking_probe

    with ExitStack() as stack:
        check_and_exit(
            CHECKS,
            lambda: stack.enter_context(asking_probe(invocation.config())),
            as_json=as_json,
        )
