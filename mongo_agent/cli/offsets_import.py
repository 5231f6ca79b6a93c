"""`mongo-agent offsets import`: begin where Debezium's connector ended."""

from pathlib import Path

import click

from mongo_agent.config import MongoConfig
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.errors import ConfigError

_TOPIC_S = 60.0


@click.command("import", short_help="Take over the position of Debezium's connector.")
@configuration_options
@click.option(
    "--from-file",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The file of a standalone worker (offset.storage.file.filename), or lines of "
    "<key><tab><value>.",
)
@click.option(
    "--from-topic",
    "topic",
    metavar="TOPIC",
    help="The topic of a distributed worker (offset.storage.topic), on the broker of "
    "kafka.producer.bootstrap.servers.",
)
@click.option("--oldest", is_flag=True, help="Of several offsets, as of shards, take the oldest.")
@click.option("--replace", is_flag=True, help="Put it in the place of a position that is there.")
@click.pass_obj
def import_(
    invocation: Invocation[MongoConfig],
    file: Path | None,
    topic: str | None,
    oldest: bool,
    replace: bool,
) -> None:
    """Store the position of the connector with the same logical name, so that the agent goes on
    where it ended. Stop the connector first, and let it store its last offset."""
    if (file is None) == (topic is None):
        raise ConfigError("Give either --from-file or --from-topic.")
    config = invocation.usable_config()
    # Imported here: the clients take long to load.
    from mongo_agent.migration.connect_offsets import connect_offsets, read_file
    from mongo_agent.migration.import_offsets import import_offsets

    if file is not None:
        records = read_file(file.read_bytes())
    else:
        from sidecar.sinks.kafka.topics.reader import records_of

        assert topic is not None
        records = records_of(config.properties.kafka_producer, topic, _TOPIC_S)
    sentences = import_offsets(config, connect_offsets(records), oldest=oldest, replace=replace)
    for sentence in sentences:
        click.echo(sentence)
