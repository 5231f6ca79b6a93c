"""`mongo-agent offsets`: display of stored offsets, and import of Debezium's offsets."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from mongo_agent.change_stream.tokens import token_to_json
from mongo_agent.check.connection_diagnostics import ANSWER_MS, connect
from mongo_agent.config.loading import MongoConfig, directory_problems
from mongo_agent.config.shard_assignment import assign_shard
from mongo_agent.offsets import OFFSET_FILE, AgentOffsets, StreamOffset
from mongo_agent.offsets.agent_offsets import parse_offsets, stored_cluster
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.offsets import accept_prefix_command
from sidecar.cli.offsets import start_problems as offset_problems
from sidecar.cli.output import MessageReport, json_output, print_json, print_message, print_rows
from sidecar.errors import ConfigError
from sidecar.offsets.properties_store import PropertiesStore

_TOPIC_S = 60.0
_UNNAMED = "the deployment"
_HEADINGS = ("stream", "cluster time", "UTC", "cluster", "snapshots")


def state_stores(config: MongoConfig) -> list[PropertiesStore]:
    """Return the offset file, or nothing if the offsets are in a topic."""
    properties = config.properties
    if properties.position_store == "kafka":
        return []
    return [PropertiesStore(properties.offset_directory, OFFSET_FILE, properties.topic_prefix)]


def start_problems(config: MongoConfig) -> list[str]:
    """Return a message for each unusable directory, state file and address."""
    return offset_problems(config.properties, directory_problems(config), state_stores(config))


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
@click.option("--oldest", is_flag=True, help="Use the oldest of several offsets (one per shard).")
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

    Stop the connector first and let it store its final offset.
    """
    if (file is None) == (topic is None):
        raise ConfigError("Use either --from-file or --from-topic.")
    config = invocation.usable_config()
    # Imported here, because the clients load slowly.
    from mongo_agent.migration import connect_offsets, import_offsets, read_file

    if file is not None:
        records = read_file(file.read_bytes())
    else:
        from sidecar.sinks.kafka.topics.reader import committed_records

        assert topic is not None
        found = committed_records(config.properties.kafka_producer, topic, _TOPIC_S)
        records = [(record.key or b"", record.value) for record in found]
    messages = import_offsets(config, connect_offsets(records), oldest=oldest, replace=replace)
    print_message(invocation, MessageReport("\n".join(messages)))


@dataclass(frozen=True, slots=True)
class ShownStream:
    """The stored offset of one stream."""

    cluster_time: str
    token: Mapping[str, Any]
    """Resume token in extended JSON; empty if only the time is known."""
    cluster: str
    pipeline_fingerprint: str | None
    snapshots_pending: int
    snapshots_finished: int


@click.group("offsets", short_help="Show or import offsets, or accept a new topic.prefix.")
@configuration_options
def offsets() -> None:
    """Manage the offsets at which a restart resumes."""


def _prefix_problems(config: MongoConfig) -> list[str]:
    if config.properties.position_store == "kafka":
        return [
            "`position.store=kafka`: offsets in the topic belong to their topic.prefix and cannot "
            "change it. Set the old topic.prefix again, or start with the new one and no offsets; "
            "`snapshot.mode` then decides on a snapshot."
        ]
    return directory_problems(config)


offsets.add_command(accept_prefix_command(_prefix_problems, state_stores))
offsets.add_command(import_)


@offsets.command("show", short_help="Show the stored offsets.")
@configuration_options
@json_output(dict[str, ShownStream], text="Print one JSON document: streams by name.")
@click.pass_obj
def show(invocation: Invocation[MongoConfig]) -> None:
    """Print the cluster time up to which each stream's changes are acknowledged.

    A running agent may be ahead of its stored offsets; see /offsets of its HTTP server.
    """
    config = invocation.config()
    streams = _load_offsets(config).streams
    if invocation.is_json:
        print_json({name or _UNNAMED: _shown(each) for name, each in streams.items()})
    elif not streams:
        click.echo("No offsets are stored; the agent starts anew.")
    else:
        rows = [
            _row(name or _UNNAMED, _shown(each), each.stream.time.second)
            for name, each in streams.items()
        ]
        print_rows(_HEADINGS, rows)


def _load_offsets(config: MongoConfig) -> AgentOffsets:
    """Load the offsets; warn on stderr if only the previous copy is readable."""
    if config.properties.position_store == "kafka":
        # Imported here, because the broker's client loads slowly.
        from mongo_agent.offsets.kafka_store import load_offsets

        # The name of the offsets in the topic depends on whether this is a shard.
        config = assign_shard(config, ANSWER_MS).config or config
        with connect(config) as (_, deployment):
            stored = load_offsets(config, deployment)
    else:
        stored = PropertiesStore(config.properties.offset_directory, OFFSET_FILE).load()
    if stored.recovered_from_previous is not None:
        print(f"warning: {stored.recovered_from_previous}", file=sys.stderr)
    return parse_offsets(stored.values, stored_cluster(stored.values))


def _row(name: str, shown: ShownStream, second: int) -> tuple[str, ...]:
    moment = datetime.fromtimestamp(second, UTC).isoformat()
    snapshots = f"{shown.snapshots_finished} finished"
    if shown.snapshots_pending:
        snapshots = f"{shown.snapshots_pending} pending, {snapshots}"
    return (name, shown.cluster_time, moment, shown.cluster, snapshots)


def _shown(offset: StreamOffset) -> ShownStream:
    return ShownStream(
        cluster_time=str(offset.stream.time),
        token=json.loads(token_to_json(offset.stream.token)),
        cluster=offset.stream.cluster,
        pipeline_fingerprint=offset.stream.fingerprint,
        snapshots_pending=len(offset.snapshot.requests) + len(offset.snapshot.collections),
        snapshots_finished=offset.snapshot.finished_count,
    )
