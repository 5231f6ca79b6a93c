"""Change data capture for the Apache Cassandra node on this machine.

`agent --config cdc.properties` runs until SIGTERM. Exit codes: 0 stopped on request, 2 invalid
configuration, 3 another instance uses the same directories, 4 Kafka, the node or a schema
registry denied access, 1 any other error.
"""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, NoReturn

import click

from agent.config.loader import AgentConfig, directory_problems, load_config
from agent.config.model import SERVICE_NAME
from commitlog import CommitLogError
from sidecar.cli.entry import agent_group, run_command_line
from sidecar.cli.invocation import Invocation
from sidecar.cli.running import run_command
from sidecar.errors import ConfigError
from sidecar.process.lifecycle import Service

if TYPE_CHECKING:
    from agent.check.probe import AgentProbe
    from sidecar.check.check import Check
    from sidecar.cli.findings import ProbeOf


def _create_service(config: AgentConfig) -> Service:
    # Imported here, so that other commands do not load the clients of the broker and the node.
    from agent.service import create_service

    return create_service(config)


def _checks() -> "tuple[Sequence[Check[AgentProbe]], ProbeOf[AgentProbe]]":
    # Imported here: the clients of the broker and the node are slow to load.
    from agent.check.checks import CHECKS
    from agent.check.probe import command_probe

    return CHECKS, lambda config: nullcontext(command_probe(config))


def start_problems(config: AgentConfig) -> list[str]:
    """Returns a message for each unusable directory, state file, schema file and address."""
    from sidecar.cli.offsets import start_problems as offset_problems

    properties = config.properties
    problems = offset_problems(properties, directory_problems(config), config.state_stores)
    if properties.schema_file is None:
        return problems
    # Imported here: the parser is slow to load, and `schema.file` is rare.
    from agent.schema import NodeIdentity
    from agent.schema.source import SchemaFile

    try:
        SchemaFile(properties.schema_file, NodeIdentity("", "")).fetch()
    except ConfigError as error:
        problems.append(str(error))
    return problems


run = run_command(
    _create_service,
    lambda config: {"cdc_raw": config.cdc_raw_directory},
    service_name=SERVICE_NAME,
    quiet=("cassandra", "opentelemetry"),
)


def _commands() -> Iterable[click.Command]:
    from agent.cli.dump import dump
    from agent.cli.offsets import offsets
    from agent.cli.quarantine import quarantine
    from agent.cli.size import size
    from agent.cli.snapshot import snapshot
    from agent.cli.truncations import truncations
    from agent.cli.verify import verify
    from agent.config.document import configuration_document
    from sidecar.cli.config import config_group
    from sidecar.cli.findings import check_command

    check = check_command("Check the node, the broker and the directories.", _checks)
    config = config_group(configuration_document, "docs/reference/configuration.md")
    return config, check, offsets, quarantine, snapshot, truncations, dump, verify, size


agent = agent_group("agent", __doc__, run, _commands)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    invocation = Invocation("agent", load_config, start_problems)
    run_command_line(agent, invocation, arguments, expected=(CommitLogError,))
