"""Records of the topics, with the fields that the checks need."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from tests.oracle.algebra.tables import Tables
from tests.support.servers.kafka import KafkaRecord


class Source(NamedTuple):
    """Origin of an event, in the order of the log."""

    segment_id: int
    position: int
    """Logical end of the mutation."""
    place: int
    """Index among the events of the mutation."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One record of a topic."""

    topic: str
    partition: int
    offset: int
    source: Source
    event_id: bytes
    made_ms: int
    """Time at which the agent created the event, by its clock."""
    partition_key: str
    """Raw Cassandra partition key in base64."""


def parse_source(text: str) -> Source:
    """The header `cdc.source`: node id, segment id, position, index in the mutation."""
    _, segment_id, position, place = text.rsplit("/", 3)
    return Source(int(segment_id), int(position), int(place))


def take_in(records: Iterable[KafkaRecord]) -> tuple[list[Arrival], Tables]:
    """Records one by one, and all of them merged."""
    arrivals = []
    tables = Tables()
    for record in records:
        headers = dict(record.headers)
        value = orjson.loads(record.value or b"null")
        tables.apply(value)
        arrivals.append(
            Arrival(
                record.topic,
                record.partition,
                record.offset,
                parse_source(headers["cdc.source"].decode()),
                headers["cdc.id"],
                value["ts_ms"],
                value["cells"]["pk"],
            )
        )
    return arrivals, tables
