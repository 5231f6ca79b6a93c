"""How long the agent waits for schemas that a registry rejects or does not answer."""

import threading
from collections.abc import Callable, Sequence
from typing import Any, cast

from bson import Int64

from mongo_agent.change_stream.reader import StreamEncoder
from mongo_agent.encoder import ChangeEvents
from sidecar.encoding import SchemaIds, Unregistered
from sidecar.errors import UnavailableError
from sidecar.schema_registry.client import SchemaRejectedError
from sidecar.schema_registry.registrar import Registrar, Subjects
from sidecar.schema_registry.registration import SchemaRegistration
from sidecar.schema_registry.settings import Strategy
from tests.support.mongodb.bson_documents import event
from tests.support.mongodb.encodings import LSID, encoder

HOLD_S = 600.0
ANSWER_S = 1.0
HANGING_S = 30.0
HOUR_S = 3600.0

Mood = Callable[[str], str]
"""Maps a subject to `takes`, `refuses` or `hangs`."""


class Registry:
    """Each request takes time on the test's clock."""

    def __init__(self, mood: Mood) -> None:
        self.mood = mood
        self.now_s = 0.0
        self.asked: list[str] = []

    def clock(self) -> float:
        return self.now_s

    def has_schema(self, number: int, schema: str) -> bool:
        return True

    def schema_id(self, subject: str, schema: str) -> int:
        self.asked.append(subject)
        mood = self.mood(subject)
        self.now_s += HANGING_S if mood == "hangs" else ANSWER_S
        if mood == "hangs":
            raise UnavailableError("no answer")
        if mood == "refuses":
            raise SchemaRejectedError("incompatible")
        return len(self.asked)


class Place:
    """An Avro encoder with a registry."""

    def __init__(self, mood: Mood, hold_max_s: float = HOLD_S) -> None:
        self.registry = Registry(mood)
        self.ids = SchemaIds()
        self.closed = threading.Event()
        avro: dict[str, Any] = {"key": "avro", "value": "avro", "schema_ids": self.ids}
        self.encoder = encoder(topic_prefix="p", transaction_topic="p.transaction", **avro)
        side = Subjects(cast(Any, self.registry), Strategy.TOPIC)
        self.registration = SchemaRegistration(
            self.ids,
            Registrar(self.ids, {"key": side, "value": side}),
            hold_max_s,
            never_abandoned="p.transaction",
            clock=self.registry.clock,
            pause_s=0.0,
        )
        self.encoding = StreamEncoder(self.encoder, None, self.registration)

    def schemas(self, collections: Sequence[str]) -> list[Unregistered]:
        """The key schema and the value schema of each collection."""
        return [
            schema for name in collections for schema in self.encoder.unregistered("shop", name)
        ]


def inserted(collection: str, *, in_transaction: bool = False) -> bytes:
    part = {"lsid": LSID, "txnNumber": Int64(1)} if in_transaction else {}
    return event("insert", 1, ns={"db": "shop", "coll": collection}, fullDocument={}, **part)


def refuses(subject: str) -> str:
    return "refuses"


def test_many_rejected_schemas_block_as_long_as_one() -> None:
    place = Place(refuses)
    schemas = place.schemas([f"c{number}" for number in range(30)])
    assert len(schemas) == 60
    assert place.registration.wait(schemas, place.closed)
    assert HOLD_S <= place.registry.now_s < 2 * HOLD_S
    assert all(place.ids.get(schema) is None for schema in schemas)
    refused = place.encoder.encode([inserted("c0"), inserted("c29")]).failures
    assert [each.event for each in refused] == [0, 1]


def test_other_schemas_are_registered_despite_rejected_one() -> None:
    place = Place(lambda subject: "refuses" if "shop.a" in subject else "takes")
    schemas = place.schemas("abc")
    assert place.registration.wait(schemas, place.closed)
    given = [schema.topic for schema in schemas if place.ids.get(schema) is not None]
    assert given == ["p.shop.b", "p.shop.b", "p.shop.c", "p.shop.c"]


def test_registry_downtime_does_not_count_as_blocked_time() -> None:
    place = Place(refuses)
    back_at_s = 2 * HOUR_S

    def mood(subject: str) -> str:
        now_s = place.registry.now_s
        return "refuses" if now_s < 10 else "hangs" if now_s < back_at_s else "refuses"

    place.registry.mood = mood
    assert place.registration.wait(place.schemas("ab"), place.closed)
    assert place.registry.now_s >= back_at_s + HOLD_S - 2 * HANGING_S


def test_unanswered_schema_does_not_renew_the_block_of_others() -> None:
    """The registry is overloaded, or fails for one subject."""
    place = Place(refuses)

    def mood(subject: str) -> str:
        if subject != "p.shop.b-key":
            return "refuses"
        return "hangs" if place.registry.now_s < HOUR_S else "takes"

    place.registry.mood = mood
    first, second, unanswered, last = place.schemas("ab")
    assert place.registration.wait([first, second, unanswered, last], place.closed)
    asked_last = max(at for at, name in enumerate(place.registry.asked) if name == "p.shop.a-key")
    asked_first = place.registry.asked.index("p.shop.b-value")
    assert asked_last < asked_first
    assert place.ids.get(unanswered) is not None


def test_unanswered_schema_request_postpones_further_requests() -> None:
    place = Place(refuses, hold_max_s=0.0)
    schemas = place.schemas("abc")
    assert place.registration.wait(schemas, place.closed)
    registry = place.registry
    registry.mood = lambda subject: "hangs"
    registry.now_s += HOUR_S
    for first in ("p.shop.a-key", "p.shop.a-value"):
        registry.asked.clear()
        place.registration.reconsider(place.closed)
        assert registry.asked == [first]
        # The pause starts after the request timed out.
        registry.now_s += HANGING_S
        place.registration.reconsider(place.closed)
        assert registry.asked == [first]
        registry.now_s += HOUR_S
    registry.mood = lambda subject: "takes"
    place.registration.reconsider(place.closed)
    assert all(place.ids.get(schema) is not None for schema in schemas)
    assert not place.encoder.encode([inserted("a"), inserted("c")]).failures


def test_closed_encoding_sends_no_schema_requests() -> None:
    place = Place(refuses, hold_max_s=0.0)
    assert place.registration.wait(place.schemas("abc"), place.closed)
    registry = place.registry
    registry.now_s += HOUR_S
    registry.asked.clear()

    def closing(subject: str) -> str:
        place.closed.set()
        return "refuses"

    registry.mood = closing
    place.registration.reconsider(place.closed)
    assert registry.asked == ["p.shop.a-key"]
    assert not place.registration.wait(place.schemas("d"), place.closed)
    assert registry.asked == ["p.shop.a-key"]
    # The encoding still knows the abandoned schemas.
    registry.mood = lambda subject: "takes"
    registry.now_s += HOUR_S
    place.registration.reconsider(threading.Event())
    assert not place.encoder.encode([inserted("a"), inserted("b"), inserted("c")]).failures


def test_transaction_schemas_are_never_abandoned() -> None:
    place = Place(refuses, hold_max_s=0.0)

    def mood(subject: str) -> str:
        if place.registry.now_s >= HOUR_S:
            place.closed.set()
        return "refuses" if "transaction" in subject else "takes"

    place.registry.mood = mood
    events = ChangeEvents([inserted("a", in_transaction=True)])
    assert place.encoding.encode(events, place.closed) is None
    place.closed.clear()
    place.registry.mood = lambda subject: "takes"
    batch = place.encoding.encode(events, place.closed)
    assert batch is not None
    assert not batch.failures
    assert len(batch) == 2
