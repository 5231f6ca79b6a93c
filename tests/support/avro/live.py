"""An agent beside a real node whose events are Avro, and a registry."""

import base64
import io
import json
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import fastavro

from tests.support.node.snapshot_agent import Agent
from tests.support.servers.cassandra import CassandraNode

_HEAD_BYTES = 5
_PREFIX = "x"


class Registry(Protocol):
    """What is asked of a registry here, besides what the agent asks."""

    @property
    def url(self) -> str: ...
    def schema(self, number: int) -> str:
        """Behind an id."""


class LiveRegistry(Registry, Protocol):
    """A registry that tests stop, and whose rules they change."""

    def versions(self, subject: str) -> list[int]:
        """Ids of a subject's schemas, the oldest first."""

    def allow_any(self, subject: str) -> None: ...
    def outage(self) -> AbstractContextManager[None]: ...


@dataclass(frozen=True, slots=True)
class Decoded:
    """One message, key and value read with the schemas that the registry has under their ids."""

    table: str
    key: dict[str, Any]
    value: dict[str, Any]
    schema_id: int
    """Of the value."""
    bytes: bytes
    """Of the value, without its id."""

    @property
    def is_snapshot(self) -> bool:
        return bool(self.value["source"]["snapshot"] == "true")

    def column(self, name: str) -> Any:
        """The value of a column in `after`; None where the event does not set it."""
        column = self.value["after"].get(name)
        return None if column is None else column["value"]


class AvroAgent(Agent):
    """As `Agent`, keys and values in Avro."""

    def __init__(
        self, node: CassandraNode, registry: Registry, directory: Path, **properties: object
    ) -> None:
        sides = {
            f"{side}_converter{name}": value
            for side in ("key", "value")
            for name, value in (("", "avro"), ("_schema_registry_url", registry.url))
        }
        super().__init__(node, directory, topic_prefix=_PREFIX, **sides, **properties)
        self._registry = registry
        self._parsed: dict[int, Any] = {}

    def decoded(self, table: str | None = None) -> list[Decoded]:
        """What arrived, in order; of one table (`keyspace.table`) or of all."""
        if not self.out.exists():
            return []
        lines = map(json.loads, self.out.read_bytes().split(b"\n")[:-1])
        wanted = None if table is None else f"{_PREFIX}.{table}"
        return [self._one(line) for line in lines if wanted in (None, line["topic"])]

    def wait_for_events(self, table: str, count: int) -> list[Decoded]:
        """Of a table, once there are so many."""
        self.process.wait_until(
            lambda: len(self.decoded(table)) >= count, f"{count} events of {table}"
        )
        return self.decoded(table)

    def _one(self, line: dict[str, Any]) -> Decoded:
        key, value = (base64.b64decode(line[side]) for side in ("key", "value"))
        schema_id = int.from_bytes(value[1:_HEAD_BYTES], "big")
        table = str(line["topic"]).removeprefix(f"{_PREFIX}.")
        return Decoded(table, self._read(key), self._read(value), schema_id, value[_HEAD_BYTES:])

    def _read(self, message: bytes) -> dict[str, Any]:
        assert message[0] == 0
        number = int.from_bytes(message[1:_HEAD_BYTES], "big")
        if number not in self._parsed:
            self._parsed[number] = fastavro.parse_schema(json.loads(self._registry.schema(number)))
        rest = io.BytesIO(message[_HEAD_BYTES:])
        found = fastavro.schemaless_reader(rest, self._parsed[number], None)
        assert not rest.read(), "bytes are left behind the record"
        assert isinstance(found, dict)
        return found
