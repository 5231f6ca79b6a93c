"""Compares encoding of raw MongoDB events as Debezium's keys and values with the same work in
Python: `bson.decode`, `bson.json_util` and `json`.

Measures CPU time of one thread in interleaved rounds, and discards the first round. Before this,
the benchmark verifies that both produce the same events.
"""

import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import bson
from bson import Int64, ObjectId, Timestamp, json_util
from bson.json_util import DatetimeRepresentation, JSONMode, JSONOptions

from benches.harness import Result, Spread, print_table, run_rounds
from mongo_agent.encoder import MongoEncoder

EVENTS = 20_000
BATCH_EVENTS = 1000
DOCUMENT_BYTES = 450
_AT_NS = 1_700_000_000_123_456_789
_DOCUMENTS = JSONOptions(
    json_mode=JSONMode.LEGACY,
    strict_number_long=True,
    datetime_representation=DatetimeRepresentation.LEGACY,
)
_KEYS = JSONOptions(json_mode=JSONMode.RELAXED)
_RULES = ("shop.orders.note", "shop.orders.address.city"), ("shop.orders.address.street:line",)

Event = dict[str, Any]
Messages = list[tuple[bytes, bytes]]


@dataclass(frozen=True)
class KindResult:
    """One kind of event: events per CPU second of each encoder, and the ratio to Python's rate."""

    name: str
    event_bytes: float
    value_bytes: float
    rates: dict[str, Spread]
    ratios: dict[str, Spread]


def run(is_quick: bool) -> Result:
    count, rounds = (2_000, 2) if is_quick else (EVENTS, 7)
    results = [
        _measure(operation, _events(operation, count), rounds) for operation in ("insert", "update")
    ]
    for result in results:
        _print(result)
    return {"kinds": results}


def _measure(operation: str, events: Sequence[bytes], rounds: int) -> KindResult:
    plain = _encoder()
    ways: dict[str, Callable[[], object]] = {
        "Python": lambda: [_in_python(event) for event in events],
        "encode": lambda: _encoded(plain, events),
        "encode, messages": lambda: _messages(plain, events),
    }
    others = {
        "encode, three rules": _encoder(excluded_fields=_RULES[0], renamed_fields=_RULES[1]),
        "encode, debezium-1.x": _encoder(layout="debezium-1.x"),
        "encode, mongodb": _encoder(layout="mongodb"),
    }
    for name, encoder in others.items():
        ways[name] = partial(_encoded, encoder, events)
    _check(_messages(plain, events), [_in_python(event) for event in events])

    def cpu_s(name: str, _: int) -> float:
        start_s = time.thread_time()
        ways[name]()
        return time.thread_time() - start_s

    spent = run_rounds(f"encoding: {operation}", tuple(ways), cpu_s, rounds=rounds, warm_up=1)
    values = [value for _, value in _messages(plain, events)]
    return KindResult(
        name=operation,
        event_bytes=sum(map(len, events)) / len(events),
        value_bytes=sum(map(len, values)) / len(events),
        rates={n: Spread.of(len(events) / each for each in times) for n, times in spent.items()},
        ratios={n: Spread.of_ratios(spent["Python"], times) for n, times in spent.items()},
    )


def _encoder(**choices: Any) -> MongoEncoder:
    return MongoEncoder(topic_prefix="L", replica_set="rs0", node_id="a", **choices)


def _encoded(encoder: MongoEncoder, events: Sequence[bytes]) -> None:
    for start in range(0, len(events), BATCH_EVENTS):
        encoder.encode(events[start : start + BATCH_EVENTS], at_ns=_AT_NS)


def _messages(encoder: MongoEncoder, events: Sequence[bytes]) -> Messages:
    """Encode events with topic, headers, event id and partition hash."""
    made: Messages = []
    for start in range(0, len(events), BATCH_EVENTS):
        batch = encoder.encode(events[start : start + BATCH_EVENTS], at_ns=_AT_NS)
        for _, key, value, _, _ in batch.messages(0, len(batch)):
            made.append((key, value or b""))
    return made


def _in_python(raw: bytes) -> tuple[bytes, bytes]:
    event = bson.decode(raw)
    key = {"id": json_util.dumps(event["documentKey"]["_id"], json_options=_KEYS)}
    update = event.get("updateDescription")
    described = None
    if update is not None:
        described = {
            "removedFields": update["removedFields"] or None,
            "updatedFields": json_util.dumps(update["updatedFields"], json_options=_KEYS),
            "truncatedArrays": [
                {"field": each["field"], "size": each["newSize"]}
                for each in update["truncatedArrays"]
            ]
            or None,
        }
    document = event.get("fullDocument")
    wall_ms = int(bson.DatetimeMS(event["wallTime"]))
    value = {
        "before": None,
        "after": None if document is None else json_util.dumps(document, json_options=_DOCUMENTS),
        "updateDescription": described,
        "source": {
            "version": "0.2.0",
            "connector": "mongodb",
            "name": "L",
            "ts_ms": wall_ms,
            "snapshot": "false",
            "db": event["ns"]["db"],
            "sequence": None,
            "ts_us": wall_ms * 1000,
            "ts_ns": wall_ms * 1_000_000,
            "collection": event["ns"]["coll"],
            "ord": event["clusterTime"].inc,
            "lsid": None,
            "txnNumber": None,
            "wallTime": wall_ms,
        },
        "op": "c" if event["operationType"] == "insert" else "u",
        "ts_ms": _AT_NS // 1_000_000,
        "ts_us": _AT_NS // 1000,
        "ts_ns": _AT_NS,
        "transaction": None,
    }
    return json.dumps(key).encode(), json.dumps(value).encode()


def _check(ours: Messages, theirs: Messages) -> None:
    for own, other in zip(ours, theirs, strict=True):
        if _meaning(own) != _meaning(other):
            raise AssertionError(f"the two events differ:\n{own}\n{other}")


def _meaning(message: tuple[bytes, bytes]) -> tuple[Event, Event]:
    """Decode a JSON value and the JSON text inside it."""
    key, value = json.loads(message[0]), json.loads(message[1])
    key["id"] = json.loads(key["id"])
    value["after"] = json.loads(value["after"])
    if (update := value["updateDescription"]) is not None:
        update["updatedFields"] = json.loads(update["updatedFields"])
    return key, value


def _events(operation: str, count: int) -> list[bytes]:
    """Return BSON events of one collection, each with a full document."""
    rng = random.Random(4)
    events = []
    for number in range(count):
        document = _document(rng, number)
        event: Event = {
            "_id": {
                "_data": f"8263D2A4F6{number:08X}2B022C0100296E5A1004{rng.randbytes(40).hex()}"
            },
            "operationType": operation,
            "clusterTime": Timestamp(1674749174, number),
            "wallTime": bson.DatetimeMS(1674749174123 + number),
            "fullDocument": document,
            "ns": {"db": "shop", "coll": "orders"},
            "documentKey": {"_id": document["_id"]},
        }
        if operation == "update":
            event["updateDescription"] = {
                "updatedFields": {"status": "sent", "address.city": "Utrecht", "total": 12.5},
                "removedFields": ["note"],
                "truncatedArrays": [],
            }
        events.append(bson.encode(event))
    return events


def _document(rng: random.Random, number: int) -> Event:
    def words(count: int) -> str:
        return " ".join(
            rng.choice(("left", "right", "über", "blue", "seven", "carton")) for _ in range(count)
        )

    document: Event = {
        "_id": ObjectId(rng.randbytes(12)),
        "customer": Int64(10**12 + number),
        "status": rng.choice(("new", "paid")),
        "total": rng.randrange(10**6) / 100,
        "ordered": bson.DatetimeMS(1_600_000_000_000 + number * 1000),
        "gift": number % 7 == 0,
        "address": {"street": words(3), "number": rng.randrange(200), "city": words(1)},
        "items": [
            {"sku": f"A-{rng.randrange(10**6):06}", "count": rng.randrange(9), "price": 9.5}
            for _ in range(2)
        ],
        "tags": [words(1), words(1)],
        "note": "",
    }
    missing = DOCUMENT_BYTES - len(bson.encode(document))
    document["note"] = words(60).encode()[:missing].decode(errors="ignore")
    return document


def _print(result: KindResult) -> None:
    title = (
        f"{result.name}: events of {result.event_bytes:.0f} bytes, "
        f"values of {result.value_bytes:.0f}"
    )
    print_table(
        title,
        result.rates,
        {
            "": lambda name: name,
            "thousand/CPU s": lambda name: result.rates[name].text(scale=1e3),
            "µs an event": lambda name: f"{1e6 / result.rates[name].median:.2f}",
            "times Python": lambda name: result.ratios[name].text(1),
        },
    )
