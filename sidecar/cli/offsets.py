"""Shared parts of the commands that access stored offsets while no agent runs."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import click

from sidecar.cli.invocation import Config, Invocation, configuration_options
from sidecar.cli.output import MessageReport, json_output, print_message
from sidecar.config.settings import SidecarProperties
from sidecar.errors import ConfigError, OffsetStoreError
from sidecar.files.locks import DirectoryLock
from sidecar.http.address import address_problem
from sidecar.offsets.properties_store import PropertiesStore


@dataclass(frozen=True, slots=True)
class AcceptedPrefix(MessageReport):
    """The topic prefix of the stored offsets."""

    directory: str
    topic_prefix: str
    """The configured prefix."""
    previous: str | None
    """The previously recorded prefix; null if there was none."""


def start_problems(
    properties: SidecarProperties,
    directory_problems: Iterable[str],
    stores: Iterable[PropertiesStore],
) -> list[str]:
    """Return a message for each unusable directory, state file and address.

    A state file is unusable if it belongs to a different topic.prefix. Damaged files are ignored
    here, because the agent handles them at startup.
    """
    problems = list(directory_problems)
    if not problems:
        try:
            for store in stores:
                with suppress(OffsetStoreError):
                    store.load()
        except ConfigError as error:
            problems.append(str(error))
    address = address_problem(properties.http_host)
    return problems if address is None else [*problems, address]


def accept_prefix_command(
    problems: Callable[[Config], list[str]],
    state_stores: Callable[[Config], Sequence[PropertiesStore]],
) -> click.Command:
    """Create the command `offsets accept-prefix`. `problems` checks a configuration."""

    @click.command("accept-prefix", short_help="Accept a changed topic.prefix.")
    @configuration_options
    @json_output(AcceptedPrefix)
    @click.pass_obj
    def accept_prefix(invocation: Invocation[Any]) -> None:
        """Record the configured topic.prefix with the stored offsets.

        Stop the agent first. The new topics receive changes after the stored offsets, but no
        existing data. To copy existing data, run `snapshot start` while the agent runs.
        """
        config = invocation.config()
        found = problems(config)
        if found:
            raise ConfigError(*found)
        directory, stores = config.properties.offset_directory, state_stores(config)
        with DirectoryLock(directory, private=directory):
            before = [store.accept_prefix() for store in stores]
        old = next((name for name in before if name is not None), None)
        prefix = config.properties.topic_prefix
        if not any(store.path.exists() for store in stores):
            message = f"No offsets are stored in {directory}; any topic.prefix can be used."
        elif old in (prefix, None):
            message = f"The offsets in {directory} belong to topic.prefix `{prefix}`."
        else:
            message = (
                f"The offsets in {directory} now belong to topic.prefix `{prefix}` instead of "
                f"`{old}`. Start the agent; copy existing data with `{invocation.command} snapshot "
                "start`."
            )
        print_message(invocation, AcceptedPrefix(message, str(directory), prefix, old))

    return accept_prefix
