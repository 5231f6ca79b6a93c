"""`mongo-agent offsets accept-prefix`: continue stored offsets under another topic prefix."""

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
    """Record the configured topic.prefix with the stored offsets.

    Stop the agent first. The new topics receive changes from the stored offsets on, and no existing
    documents. Run `mongo-agent snapshot start` afterwards to publish these.
    """
    config = invocation.config()
    problems = directory_problems(config)
    if problems:
        raise ConfigError(*problems)
    if config.properties.position_store == "kafka":
        raise ConfigError(
            "`position.store=kafka`: offsets in the topic belong to their topic.prefix and cannot "
            "change it. Set the old topic.prefix again, or start with the new one without offsets; "
            "`snapshot.mode` then decides on a snapshot."
        )
    directory = config.properties.offset_directory
    prefix = config.properties.topic_prefix
    with DirectoryLock(directory):
        store = PropertiesStore(directory, OFFSET_FILE, prefix)
        old = store.accept_prefix()
    if not store.path.exists():
        click.echo(f"{directory} contains no offsets; any topic.prefix can be used.")
    elif old in (prefix, None):
        click.echo(f"The offsets in {directory} belong to topic.prefix `{prefix}`.")
    else:
        click.echo(
            f"The offsets in {directory} now belong to topic.prefix `{prefix}` (before: `{old}`). "
            "Start the agent, then publish existing documents with `mongo-agent snapshot start`."
        )
