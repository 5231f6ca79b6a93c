"""Change data capture for a MongoDB replica set or sharded cluster.

`mongo-agent --config mongo.properties` runs until SIGTERM. Exit codes: 0 stopped on request, 2
invalid configuration, 3 another instance uses the same directory or the same name in Kafka, 4
Kafka, MongoDB or a schema registry denied access, 1 any other error.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn

import click

from mongo_agent.config.loading import MongoConfig, load_config
from mongo_agent.config.model import SERVICE_NAME
from sidecar.cli.entry import agent_group, run_command_line
from sidecar.cli.invocation import Invocation
from sidecar.cli.running import run_command
from sidecar.process.lifecycle import Service

if TYPE_CHECKING:
    from mongo_agent.check.probe import MongoProbe
    from sidecar.check.check import Check
    from sidecar.cli.findings import ProbeOf


def _create_service(config: MongoConfig) -> Service:
    # Imported here, because the broker's client loads slowly.
    from mongo_agent.service import create_service

    return create_service(config)


def _checks() -> "tuple[Sequence[Check[MongoProbe]], ProbeOf[MongoProbe]]":
    # Imported here, because the broker's client loads slowly.
    from mongo_agent.check.checks import CHECKS
    from mongo_agent.check.probe import open_probe

    return CHECKS, open_probe


run = run_command(
    _create_service,
    lambda config: {"mongodb": config.client.address},
    service_name=SERVICE_NAME,
    quiet=("pymongo",),
)


def _start_problems(config: MongoConfig) -> list[str]:
    from mongo_agent.cli.offsets import start_problems

    return start_problems(config)


def _commands() -> Iterable[click.Command]:
    from mongo_agent.cli.compare import compare
    from mongo_agent.cli.offsets import offsets
    from mongo_agent.cli.plan import plan
    from mongo_agent.cli.snapshot import snapshot
    from mongo_agent.config.document import configuration_document
    from sidecar.cli.config import config_group
    from sidecar.cli.findings import check_command

    check = check_command("Check MongoDB, the broker and the directories.", _checks)
    config = config_group(configuration_document, "docs/reference/mongodb-configuration.md")
    return config, check, plan, offsets, snapshot, compare


mongo_agent = agent_group("mongo-agent", __doc__, run, _commands)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command line and exit with its code."""
    invocation = Invocation("mongo-agent", load_config, _start_problems)
    run_command_line(mongo_agent, invocation, arguments)
