"""`agent run`: the agent itself."""

import logging
import sys

import click

from agent.cli.invocation import Invocation, configuration_options
from agent.config import AgentConfig, directory_problems
from sidecar import lifecycle, logs
from sidecar.errors import ConfigError
from sidecar.logs import fields

logger = logging.getLogger(__name__)


@click.command("run", short_help="Run until asked to stop (the default).")
@configuration_options
@click.pass_obj
def run(invocation: Invocation) -> None:
    """Publish the node's changes until SIGTERM or SIGINT asks for a stop."""
    config = invocation.config()
    problems = directory_problems(config)
    if problems:
        raise ConfigError(*problems)
    level = "debug" if invocation.is_debugging else config.properties.log_level
    logs.configure(config.properties.log_format, level)
    # The driver's own lines repeat in many words what one sentence of ours says.
    logging.getLogger("cassandra").setLevel(logging.CRITICAL)
    for sentence in config.warnings:
        logger.warning(sentence)
    sys.exit(_serve(config))


def _serve(config: AgentConfig) -> int:
    # Imported here, so that the other commands need not load the broker's and the node's clients.
    from agent.service import create_service

    logger.info(
        "starting",
        extra=fields(cdc_raw=config.cdc_raw_directory, sink=config.properties.sink),
    )
    return lifecycle.run(create_service(config), config.properties.shutdown_timeout_ms)
