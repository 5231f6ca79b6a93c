"""Properties of signal channels."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from mongo_agent.config.events import TopicPart
from sidecar.properties.addresses import broker_list
from sidecar.properties.model import PassThrough, Properties, pass_through, prop
from sidecar.properties.types import CommaList, words

Channels = Annotated[
    CommaList,
    words(
        ("source", "kafka", "file"),
        "a list of `source`, `kafka` and `file`",
        ". HTTP and the command line are always enabled",
    ),
]


def _collection(value: str) -> str:
    database, dot, collection = value.partition(".")
    if not (database and dot and collection):
        raise ValueError("must be of the form `database.collection`")
    return value


class SignalProperties(Properties):
    """Channels through which a running agent receives signals."""

    signal_channels: Channels = prop(
        "signal.enabled.channels",
        default=("source",),
        doc="Channels for signals besides HTTP and the command line. `source`: inserts into "
        "`signal.data.collection`. `kafka`: the topic `signal.kafka.topic`. `file`: lines of JSON "
        "in `signal.file`.",
    )
    signal_collection: Annotated[str, AfterValidator(_collection)] | None = prop(
        "signal.data.collection",
        default=None,
        doc="Collection (`database.collection`) of the channel `source`; the agent reads its "
        "changes and never writes to it. Not set: the channel is off.",
    )
    signal_topic: TopicPart | None = prop(
        "signal.kafka.topic",
        default=None,
        min_length=1,
        doc="Topic of the channel `kafka`; the agent reads messages whose key is `topic.prefix`. "
        "Not set: `<topic.prefix>-signal`.",
    )
    signal_group: str = prop(
        "signal.kafka.groupId",
        default="kafka-signal",
        min_length=1,
        doc="Consumer group of the channel `kafka`, for the broker's ACLs. The first start reads "
        "from the group's committed offset, as left by Debezium's connector, else from the "
        "beginning. The agent commits no offset.",
    )
    signal_servers: Annotated[str, AfterValidator(broker_list)] | None = prop(
        "signal.kafka.bootstrap.servers",
        default=None,
        min_length=1,
        doc="Brokers of the channel `kafka`. Not set: `kafka.producer.bootstrap.servers`.",
    )
    signal_file: Path | None = prop(
        "signal.file",
        default=None,
        doc="File of the channel `file`. The agent needs write access to its directory: it "
        "renames the file, logs a result for each line, and deletes the file after the results are "
        "stored.",
    )
    signal_consumer: PassThrough = pass_through(
        "signal.consumer.",
        doc="Security settings of the channel `kafka` under their Java names. Not set: those of "
        "`kafka.producer.*`.",
    )
