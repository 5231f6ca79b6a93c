"""How copies are asked for while the agent runs."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from mongo_agent.config.events import TopicPart
from sidecar.properties import (
    CommaList,
    PassThrough,
    Properties,
    broker_list,
    pass_through,
    prop,
)

_CHANNELS = ("source", "kafka", "file")


def _channels(values: tuple[str, ...]) -> tuple[str, ...]:
    names = tuple(value.lower() for value in values)
    for name in names:
        if name not in _CHANNELS:
            raise ValueError(
                "must be a list of `source`, `kafka` and `file`, besides which HTTP and the "
                f"command line are always there; `{name}` is none of them"
            )
    return names


def _collection(value: str) -> str:
    database, dot, collection = value.partition(".")
    if not (database and dot and collection):
        raise ValueError("must be of the form `database.collection`")
    return value


class SignalProperties(Properties):
    """Signals."""

    signal_channels: Annotated[CommaList, AfterValidator(_channels)] = prop(
        "signal.enabled.channels",
        default=("source",),
        doc="Where signals are taken from besides HTTP and the command line. `source`: documents "
        "that somebody inserts into `signal.data.collection`. `kafka`: a topic. `file`: lines of "
        "JSON in `signal.file`.",
    )
    signal_collection: Annotated[str, AfterValidator(_collection)] | None = prop(
        "signal.data.collection",
        default=None,
        doc="The collection (`database.collection`) of the channel `source`; the agent reads its "
        "changes and never writes to it. Not set: that channel is off.",
    )
    signal_topic: TopicPart | None = prop(
        "signal.kafka.topic",
        default=None,
        min_length=1,
        doc="The topic of the channel `kafka`; of its messages those count whose key is "
        "`topic.prefix`. Not set: `<topic.prefix>-signal`.",
    )
    signal_group: str = prop(
        "signal.kafka.groupId",
        default="kafka-signal",
        min_length=1,
        doc="Name of a consumer group, by which a broker's rights know who reads. The first start "
        "begins behind what is committed to it, as by Debezium's connector, else with the first "
        "signal of the topic; the agent commits nothing.",
    )
    signal_servers: Annotated[str, AfterValidator(broker_list)] | None = prop(
        "signal.kafka.bootstrap.servers",
        default=None,
        min_length=1,
        doc="Brokers for it. Not set: those of `kafka.producer.bootstrap.servers`.",
    )
    signal_file: Path | None = prop(
        "signal.file",
        default=None,
        doc="The file of the channel `file`, whose directory the agent must be able to write: it "
        "takes the file by giving it another name, answers line by line in its log, and removes "
        "it when the answers are stored.",
    )
    signal_consumer: PassThrough = pass_through(
        "signal.consumer.",
        doc="Security settings for it under their Java names. Not set: those of "
        "`kafka.producer.*`.",
    )
