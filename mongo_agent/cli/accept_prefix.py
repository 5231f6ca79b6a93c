"""`mongo-agent offsets accept-prefix`: let a stored position go on with other topics."""

import click

from mongo_agent.config import MongoConfig, directory_problems
from mongo_agent.offsets import OFFSET_FILE
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.errors import ConfigError
from sidecar.files.locks import DirectoryLock
from sidecar.offsets import PropertiesStore


@click.command("accept-prefix", short_help="Accept a changed topic.prefix.")
@configuration_options
@click.pass_obj
def accept_prefix(invocation: Invocation[MongoConfig]) -> None:
    """Record the configured topic.prefix with the stored position.

    Stop the agent first. The new topics receive changes from the stored position on; existing
    documents are not copied. Copy them with `mongo-agent snapshot start` once the agent runs.
    """
    config = invocation.config()
    problems = directory_problems(config)
    if problems:
        raise ConfigError(*problems)
    if config.properties.position_store == "kafka":
        raise ConfigError(
            "`position.store=kafka`: the position in the topic belongs to its topic.prefix and "
            "cannot change it. Set the old topic.prefix again, or start with the new one, which "
            "begins anew with a snapshot as `snapshot.mode` says."
        )
    directory = config.properties.offset_directory
    prefix = config.properties.topic_prefix
    with DirectoryLock(directory):
        store = PropertiesStore(directory, OFFSET_FILE, prefix)
        old = store.accept_prefix()
    if not store.path.exists():
        click.echo(f"No position is stored in {directory}; any topic.prefix can be used.")
    elif old in (prefix, None):
        click.echo(f"The position in {directory} belongs to topic.prefix `{prefix}`.")
    else:
        click.echo(
            f"The position in {directory} belongs to topic.prefix `{prefix}` now, before to "
            f"`{old}`. Start the agent; copy existing documents with `mongo-agent snapshot start`."
        )
