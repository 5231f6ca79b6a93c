"""Where the position is kept that a restart begins at: in a file, or in Kafka.

* `file` (`sidecar.offsets.PropertiesStore`): saved behind what the sink has acknowledged, so a
  restart repeats what came after the last save. At least once.
* `kafka`: one record in a compacted topic, written by the sink in the Kafka transaction of the
  events that it comes after. Neither is there without the other, so a consumer that reads what is
  committed sees each event exactly once.

A position is names and values, as an offset file has them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import orjson
from pydantic import TypeAdapter, ValidationError

from sidecar.offsets import StoredOffsets

_ID_PREFIX = "cdc-sidecar-"


class PositionStore(Protocol):
    """Used by the thread that uses the sink."""

    def load(self) -> StoredOffsets:
        """What is stored; nothing stored yet gives no values.

        Called again whenever the sink was closed: whether a transaction whose answer was lost was
        committed is known only here. Raises OffsetStoreError, and
        UnavailableError when it is to be asked again.
        """

    def save(self, values: Mapping[str, str], /) -> None:
        """Durable on return. Raises OffsetSaveError."""


@dataclass(frozen=True, slots=True)
class PositionRecords:
    """How positions lie in Kafka: the topic, whose position it is, and a pure function from a
    source and its position to the names and values that are of this source.

    `name` is the key of the record, which has the positions of all sources, and makes the
    transactional id, so that whoever writes the position is the only one who can.
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


class SinkWithPositions(Protocol):
    """A sink that stores positions together with the events that they come after."""

    def load(self) -> StoredOffsets:
        """As `PositionStore.load`."""

    def begin_at(self, positions: Mapping[Any, Any]) -> None:
        """Positions by source, of those that have none yet; durable on return. Raises
        UnavailableError when it is to be asked again."""


class SinkPositions:
    """The store of such a sink."""

    def __init__(self, sink: SinkWithPositions) -> None:
        self._sink = sink

    def load(self) -> StoredOffsets:
        return self._sink.load()

    def begin_at(self, positions: Mapping[Any, Any]) -> None:
        self._sink.begin_at(positions)

    def save(self, values: Mapping[str, str], /) -> None:
        """Nothing is left to do: what is acknowledged is stored."""


Positions = Mapping[str, Mapping[str, str]]
"""Names and values by source."""


def position_bytes(positions: Positions) -> bytes:
    """The value of a record: `{"<source>": {"<name>": "<value>", …}, …}`, sorted."""
    document = {source: dict(values) for source, values in positions.items()}
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)


def read_positions(value: bytes) -> Positions:
    """Raises ValueError for bytes that are no such record."""
    try:
        return _POSITIONS.validate_json(value, strict=True)
    except ValidationError as error:
        raise ValueError("it is no JSON object of objects of texts") from error


def all_values(positions: Positions) -> dict[str, str]:
    """Of all sources together, as an offset file has them."""
    return {name: value for values in positions.values() for name, value in values.items()}


_POSITIONS = TypeAdapter(dict[str, dict[str, str]])
