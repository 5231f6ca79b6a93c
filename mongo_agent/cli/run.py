"""`mongo-agent run`: run the agent."""

import sys

import click

from mongo_agent.config import MongoConfig
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.running import run_service
from sidecar.process.lifecycle import Service


@click.command("run", short_help="Run until stopped (the default).")
@configuration_options
@click.pass_obj
def run(invocation: Invocation[MongoConfig]) -> None:
    """Publish the changes of the deployment until SIGTERM or SIGINT."""
    config = invocation.usable_config()
    code = run_service(
        config,
        _create_service,
        is_debugging=invocation.is_debugging,
        quiet=["pymongo"],
        mongodb=config.client.address,
    )
    sys.exit(code)


def _create_service(config: MongoConfig) -> Service:
    # Imported here, so that other commands do not load the broker's client.
    from mongo_agent.service import create_service

    return create_service(config)
