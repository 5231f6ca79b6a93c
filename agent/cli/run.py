"""`agent run`: runs the agent."""

import sys

import click

from agent.config import AgentConfig
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.running import run_service
from sidecar.process.lifecycle import Service


@click.command("run", short_help="Run the agent (default command).")
@configuration_options
@click.pass_obj
def run(invocation: Invocation[AgentConfig]) -> None:
    """Publish the node's changes until SIGTERM or SIGINT."""
    config = invocation.usable_config()
    code = run_service(
        config,
        _create_service,
        is_debugging=invocation.is_debugging,
        quiet=["cassandra", "opentelemetry"],
        cdc_raw=config.cdc_raw_directory,
    )
    sys.exit(code)


def _create_service(config: AgentConfig) -> Service:
    # Imported here, so that other commands do not load the clients of broker and node.
    from agent.service import create_service

    return create_service(config)
