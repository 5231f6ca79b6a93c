"""`agent offsets accept-prefix`: use stored offsets with another topic.prefix."""

import click

from agent.config import OFFSET_FILE, AgentConfig, directory_problems
from agent.snapshot.offsets import FILE as SNAPSHOT_FILE
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.errors import ConfigError
from sidecar.files.locks import DirectoryLock
from sidecar.offsets import PropertiesStore


@click.command("accept-prefix", short_help="Accept a changed topic.prefix.")
@configuration_options
@click.pass_obj
def accept_prefix(invocation: Invocation[AgentConfig]) -> None:
    """Record the configured topic.prefix with the stored offsets.

    Stop the agent first. The new topics receive changes from the stored offsets on, without
    existing rows. To copy those, run `agent snapshot start` when the agent runs.
    """
    config = invocation.config()
    problems = directory_problems(config)
    if problems:
        raise ConfigError(*problems)
    properties = config.properties
    directory, prefix = properties.offset_directory, properties.topic_prefix
    with DirectoryLock(directory):
        stores = [PropertiesStore(directory, file, prefix) for file in (OFFSET_FILE, SNAPSHOT_FILE)]
        before = [store.accept_prefix() for store in stores]
    old = next((name for name in before if name is not None), None)
    if not any(store.path.exists() for store in stores):
        click.echo(f"No offsets are stored in {directory}; any topic.prefix can be used.")
    elif old in (prefix, None):
        click.echo(f"The offsets in {directory} belong to topic.prefix `{prefix}`.")
    else:
        click.echo(
            f"The offsets in {directory} now belong to topic.prefix `{prefix}` instead of `{old}`. "
            "Start the agent; copy existing rows with `agent snapshot start`."
        )
