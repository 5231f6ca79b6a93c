"""What tests of Avro on real nodes share."""

import io
import json

import fastavro

from tests.support.avro.live import Decoded
from tests.support.node.snapshot_agent import Agent

HOLD_MAX_MS = 3000


def subject(table: str) -> str:
    return f"x.{table}-value"


def reason(agent: Agent) -> str:
    """What `/health` says of the registry."""
    health = agent.process.ask("/health") or {}
    return json.dumps(health)


def assert_read_alike(event: Decoded, written: str, latest: str) -> None:
    """A consumer with the latest schema has the values that were written."""
    writer, reader = (fastavro.parse_schema(json.loads(each)) for each in (written, latest))
    found = fastavro.schemaless_reader(io.BytesIO(event.bytes), writer, reader)
    assert isinstance(found, dict)
    for name in ("id", "price", "b"):
        column = found["after"].get(name)
        value = column and column["value"]
        known = event.column(name)
        # Fields that a user type got since are null.
        assert value == (value | known if isinstance(known, dict) else known)
    assert found["cells"] == event.value["cells"]
