"""Transactions begin once, count their events, and end as soon as the end is known."""

import json
from collections import Counter
from dataclasses import dataclass
from functools import partial

import pytest
from bson import Int64, Timestamp
from hypothesis import given
from hypothesis import strategies as st

from mongo_agent.encoder import MongoBatch, MongoTransaction
from tests.support.mongodb import encodings
from tests.support.mongodb.bson_documents import Json, event

_TOPIC = "L.transaction"


encoder = partial(encodings.encoder, transaction_topic=_TOPIC)


def name_of(transaction: int) -> str:
    return f'{{"id": "s"}}:{transaction}'


def in_transaction(transaction: int | None, collection: str, increment: int = 1) -> bytes:
    others: Json = {
        "ns": {"db": "shop", "coll": collection},
        "clusterTime": Timestamp(9, increment),
        "fullDocument": {},
    }
    if transaction is not None:
        others |= {"lsid": {"id": "s"}, "txnNumber": Int64(transaction)}
    return event("insert", **others)


@dataclass(frozen=True)
class Told:
    """A message: the value of a transaction message, or the `transaction` member of a document."""

    topic: str
    value: Json | None
    headers: dict[str, bytes]


def told(batch: MongoBatch, done: int = 0) -> list[Told]:
    found = []
    for topic, key, value, headers, _ in batch.messages(done, len(batch)):
        assert value is not None
        read = json.loads(value)
        if topic == _TOPIC:
            assert json.loads(key) == {"id": read["id"]}
            assert dict(headers)["cdc.kind"] == b"transaction"
        else:
            read = read["transaction"]
        found.append(Told(topic, read, dict(headers)))
    return found


def part(transaction: int, total: int, of_collection: int) -> Json:
    return {
        "id": name_of(transaction),
        "total_order": total,
        "data_collection_order": of_collection,
    }


def test_transaction_has_begin_and_end_messages() -> None:
    batch = encoder().encode(
        [
            in_transaction(1, "a", 4),
            in_transaction(1, "b", 4),
            in_transaction(1, "a", 5),
            in_transaction(None, "a", 6),
        ]
    )
    ts_ms = 1674749174123
    begin: Json = {"status": "BEGIN", "id": name_of(1), "event_count": None}
    end: Json = {"status": "END", "id": name_of(1), "event_count": 3}
    counts = [
        {"data_collection": "shop.a", "event_count": 2},
        {"data_collection": "shop.b", "event_count": 1},
    ]
    messages = told(batch)
    assert [(message.topic, message.value) for message in messages] == [
        (_TOPIC, {**begin, "data_collections": None, "ts_ms": ts_ms}),
        ("L.shop.a", part(1, 1, 1)),
        ("L.shop.b", part(1, 2, 1)),
        ("L.shop.a", part(1, 3, 2)),
        (_TOPIC, {**end, "data_collections": counts, "ts_ms": ts_ms}),
        ("L.shop.a", None),
    ]
    assert messages[0].headers["cdc.source"] == b"a/rs0/9.4/0"
    assert messages[4].headers["cdc.source"] == b"a/rs0/9.5/0"
    assert [batch.position_after(done) for done in range(7)] == [0, 0, 1, 2, 3, 3, 4]
    assert batch.counts[("", "transaction")] == 2
    assert len({message.headers["cdc.id"] for message in messages}) == 6


def test_old_layout_prefixes_collections_with_replica_set() -> None:
    batch = encoder("debezium-2.1").encode([in_transaction(1, "a"), in_transaction(None, "a")])
    end = told(batch)[2].value
    assert end is not None
    assert end["data_collections"] == [{"data_collection": "rs0.shop.a", "event_count": 1}]


def test_no_transaction_messages_without_a_topic() -> None:
    state = encoder().encode([in_transaction(1, "a")]).transaction_after(1)
    batch = encodings.encoder().encode(
        [in_transaction(1, "a"), in_transaction(None, "a")], transaction=state
    )
    assert [message.value for message in told(batch)] == [None, None]
    assert batch.transaction_after(1) is None


def test_invalid_stored_transaction_is_rejected() -> None:
    with pytest.raises(ValueError, match="not a transaction: missing field `time`"):
        MongoTransaction.from_json('{"id": "x"}')
    made = MongoTransaction(id="x", time=(1, 2), ts_ms=3, counts={"a.b": 4})
    assert MongoTransaction.from_json(made.to_json()) == made
    assert made != MongoTransaction(id="x", time=(1, 2), ts_ms=3, counts={})


def test_later_token_ends_transaction() -> None:
    making = encoder()
    state = making.encode([in_transaction(1, "a", 4)]).transaction_after(1)
    assert state is not None
    same = making.end_transaction(state, (9, 4))
    assert (len(same), same.position_after(0), same.transaction_after(1)) == (0, 1, state)
    end = making.end_transaction(state, (9, 5))
    assert (len(end), end.position_after(0), end.position_after(1)) == (1, 0, 1)
    assert (end.transaction_after(0), end.transaction_after(1)) == (state, None)
    by_event = making.encode([in_transaction(2, "a", 9)], transaction=state)
    assert end.messages(0, 1) == by_event.messages(0, 1)


def test_large_transaction_has_several_times() -> None:
    making = encoder()
    state = making.encode([in_transaction(1, "a", 1), in_transaction(1, "a", 4)])
    open_one = state.transaction_after(2)
    assert open_one is not None
    assert len(making.end_transaction(open_one, (9, 3))) == 0
    assert len(making.end_transaction(open_one, (9, 5))) == 1


def test_event_without_message_ends_transaction_uncounted() -> None:
    making = encoder(captures=lambda _, collection: collection != "x")
    events = [
        in_transaction(1, "x"),
        in_transaction(1, "a"),
        in_transaction(1, "x"),
        in_transaction(2, "x"),
        in_transaction(2, "b"),
        event("drop", ns={"db": "shop", "coll": "a"}),
    ]
    batch = making.encode(events)
    statuses = [(message.topic, (message.value or {}).get("status")) for message in told(batch)]
    assert statuses == [
        (_TOPIC, "BEGIN"),
        ("L.shop.a", None),
        (_TOPIC, "END"),
        (_TOPIC, "BEGIN"),
        ("L.shop.b", None),
        (_TOPIC, "END"),
    ]
    # The END message belongs to the event that reveals it; that event yields no other message.
    assert [batch.position_after(done) for done in range(7)] == [1, 1, 3, 4, 4, 5, 6]


def test_rejected_event_does_not_change_transaction() -> None:
    """The lsid is readable, so the transaction begins before the document turns out damaged."""
    good = in_transaction(2, "a")
    damaged = bytearray(in_transaction(2, "a"))
    place = damaged.index(b"fullDocument") + len(b"fullDocument\0")
    # A document with an element of an unknown type replaces an empty document.
    damaged[place : place + 5] = b"\x08\0\0\0\x20x\0\0"
    damaged[:4] = len(damaged).to_bytes(4, "little")
    making = encoder()
    before = making.encode([in_transaction(1, "a")])
    state = before.transaction_after(1)
    batch = making.encode([bytes(damaged), good], transaction=state)
    assert [refused.event for refused in batch.failures] == [0]
    assert batch.transaction_after(1) == state
    without = making.encode([good], transaction=state)
    assert [message.value for message in told(batch)] == [
        message.value for message in told(without)
    ]


histories = st.lists(
    st.tuples(st.sampled_from([1, 2, None]), st.sampled_from(["a", "b"])), max_size=12
)


@given(histories, st.data())
def test_every_transaction_begin_has_an_end(
    history: list[tuple[int | None, str]], data: st.DataObject
) -> None:
    """The encoder restarts after any message, and repeated messages have the same ids."""
    making = encoder()
    events = [in_transaction(*each, number) for number, each in enumerate(history)]
    whole = making.encode(events, at_ns=1)
    done = data.draw(st.integers(0, len(whole)))
    position = whole.position_after(done)
    state = whole.transaction_after(position)
    stored = None if state is None else MongoTransaction.from_json(state.to_json())
    second = making.encode(events[position:], transaction=stored, at_ns=1)
    resumed = second.messages(0, len(second))
    everything = whole.messages(0, len(whole))
    assert resumed == everything[len(everything) - len(resumed) :]
    assert len(everything) - len(resumed) <= done

    messages = told(whole)
    last = second.transaction_after(len(events) - position)
    if last is not None:
        messages += told(making.end_transaction(last, (9, len(events) + 1)))
    boundaries = [each.value for each in messages if each.topic == _TOPIC and each.value]
    statuses = [(each["status"], each["id"]) for each in boundaries]
    begun = [name for status, name in statuses if status == "BEGIN"]
    expected = [("BEGIN", name) for name in begun] + [("END", name) for name in begun]
    assert statuses[::2] + statuses[1::2] == expected
    counted: Counter[str] = Counter()
    for each in boundaries[1::2]:
        of_collections = {
            of["data_collection"]: of["event_count"] for of in each["data_collections"]
        }
        assert each["event_count"] == sum(of_collections.values()) > 0
        counted.update(of_collections)
    assert counted == Counter(f"shop.{name}" for transaction, name in history if transaction)
