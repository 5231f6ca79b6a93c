"""The two stores of the position from which a restart resumes: a file, or Kafka.

* `file` (`PropertiesStore`): saved after the sink has acknowledged events. A
  restart repeats the events after the latest save: at least once.
* `kafka`: one record in a compacted topic, written in the same Kafka transaction as the events
  before the position. A consumer that reads committed records sees each event exactly once.

A position is a set of names and values, as in an offset file.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import orjson
from pydantic import TypeAdapter, ValidationError

from sidecar.offsets.flusher import OffsetStore
from sidecar.offsets.properties_store import StoredOffsets

_ID_PREFIX = "cdc-sidecar-"


class PositionStore(OffsetStore, Protocol):
    """Used on the sink's thread."""

    def load(self) -> StoredOffsets:
        """Returns the stored values, empty before the first save.

        Called again whenever the sink was closed, because only the store knows whether a
        transaction with a lost answer was committed. Raises OffsetStoreError, and
        UnavailableError if the caller should retry.
        """


@dataclass(frozen=True, slots=True)
class PositionRecords:
    """The form of positions in Kafka: the topic, the owner, and a pure function that converts a
    source and its position to names and values.

    `name` is the key of the record with the positions of all sources. The transactional id
    contains it, so Kafka allows only one writer of the position.
    """

    topic: str
    name: str
    values: Callable[[Any, Any], Mapping[str, str]]

    @property
    def key(self) -> bytes:
        return self.name.encode()

    @property
    def transactional_id(self) -> str:
        return _ID_PREFIX + self.name


class SinkPositions(ABC):
    """A position store that is a sink: a transaction has events and the position after them."""

    @abstractmethod
    def begin_at(self, positions: Mapping[Any, Any]) -> None:
        """Durably stores the initial position of each source that has no position, so that a crash
        before the first event does not change the start. Raises UnavailableError if the caller
        should retry."""


Positions = Mapping[str, Mapping[str, str]]
"""Names and values by source."""


def position_bytes(positions: Positions) -> bytes:
    """Serializes the value of a record: `{"<source>": {"<name>": "<value>", …}, …}`, sorted."""
    document = {source: dict(values) for source, values in positions.items()}
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)


def read_positions(value: bytes) -> Positions:
    """Parses the value of a record. Raises ValueError."""
    try:
        return _POSITIONS.validate_json(value, strict=True)
    except ValidationError as error:
        raise ValueError("position record: not a JSON object of objects of strings") from error


def all_values(positions: Positions) -> dict[str, str]:
    """Merges the names and values of all sources, as in an offset file."""
    return {name: value for values in positions.values() for name, value in values.items()}


_POSITIONS = TypeAdapter(dict[str, dict[str, str]])
