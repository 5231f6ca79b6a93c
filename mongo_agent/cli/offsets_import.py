"""`mongo-agent offsets import`: resume where Debezium's connector stopped."""

from pathlib import Path

import click

from mongo_agent.config.loading import MongoConfig
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.output import MessageReport, json_output, print_message
from sidecar.errors import ConfigError

_TOPIC_S = 60.0


@click.command("import", short_help="Import the offset of Debezium's connector.")
@configuration_options
@click.option(
    "--from-file",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File of a standalone worker (offset.storage.file.filename), or lines of "
    "<key><tab><value>.",
)
@click.option(
    "--from-topic",
    "topic",
    metavar="TOPIC",
    help="Topic of a distributed worker (offset.storage.topic), on the brokers of "
    "kafka.producer.bootstrap.servers.",
)
@click.option("--oldest", is_flag=True, help="Use the oldest of several offsets, as of shards.")
@click.option("--replace", is_flag=True, help="Overwrite stored offsets.")
@json_output(MessageReport)
@click.pass_obj
def import_(
    invocation: Invocation[MongoConfig],
    file: Path | None,
    topic: str | None,
    oldest: bool,
    replace: bool,
) -> None:
    """Store the offset of the connector with the same logical name; the agent resumes there.

    Stop the connector first and let it store its last offset.
    """
    if (file is None) == (topic is None):
        raise ConfigError("Use either --from-file or --from-topic.")
    config = invocation.usable_config()
    # Imported here, because the clients load slowly.
    from mongo_agent.migration.connect_offsets import connect_offsets, read_file
    from mongo_agent.migration.import_offsets import import_offsets

    if file is not None:
        records = read_file(file.read_bytes())
    else:
        from sidecar.sinks.kafka.topics.reader import committed_records

        assert topic is not None
        found = committed_records(config.properties.kafka_producer, topic, _TOPIC_S)
        records = [(record.key or b"", record.value) for record in found]
    messages = import_offsets(config, connect_offsets(records), oldest=oldest, replace=replace)
    print_message(invocation, MessageReport("\n".join(messages)))
