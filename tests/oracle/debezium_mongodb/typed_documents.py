"""Random documents whose arrays have one type, which Debezium's transformations accept."""

from collections.abc import Callable
from datetime import UTC, datetime
from random import Random
from typing import Any

from bson import Binary, Code, Decimal128, Int64, ObjectId, Regex, Timestamp
from pymongo import MongoClient

from tests.oracle.debezium_mongodb.values import text

COLLECTION = ("shop", "typed")
OUTBOX = ("shop", "outbox")
_NAMES = ("a", "b", "c_d", "größe", "x-y", "1st")
_LEAVES: tuple[Callable[[Random], Any], ...] = (
    lambda random: text(random) + "é😀\u2028",
    lambda random: random.randint(-9, 9),
    lambda random: Int64(random.randint(-(2**63), 2**63 - 1)),
    lambda random: random.choice([0.5, -0.0, 1e22, float("nan"), float("inf"), 10.0]),
    lambda random: random.random() < 0.5,
    lambda random: ObjectId(random.randbytes(12)),
    lambda random: Binary(random.randbytes(random.randint(0, 9)), random.choice((0, 4))),
    lambda random: Decimal128(f"{random.randint(-99, 99)}E{random.randint(-9, 9)}"),
    lambda random: Timestamp(random.getrandbits(31), random.getrandbits(32)),
    lambda random: Code(text(random)),
)


def leaf(random: Random) -> Any:
    return random.choice((*_LEAVES, lambda _: None, _regex))(random)


def document(random: Random, depth: int = 2) -> dict[str, Any]:
    names = random.sample(_NAMES, random.randint(0, len(_NAMES)))
    return {name: value(random, depth) for name in names}


def value(random: Random, depth: int = 2) -> Any:
    shape = random.random() if depth else 1.0
    if shape < 0.2:
        return document(random, depth - 1)
    if shape < 0.4:
        made = random.choice(_LEAVES)
        return [made(random) for _ in range(random.randint(0, 4))]
    if shape < 0.6:
        return documents(random)
    if shape < 0.65:
        return [[random.randint(0, 9)] for _ in range(random.randint(1, 3))]
    return leaf(random)


def documents(random: Random) -> list[dict[str, Any]]:
    """Each field has one type, and each document lacks some fields."""
    kinds = {name: random.choice(_LEAVES) for name in random.sample(_NAMES, 3)}
    return [
        {name: kind(random) for name, kind in kinds.items() if random.random() < 0.7}
        for _ in range(random.randint(1, 3))
    ]


def outbox(client: MongoClient[Any], random: Random, steps: int) -> None:
    """Documents of an outbox, a few of them changed."""
    collection = client[OUTBOX[0]][OUTBOX[1]]
    for step in range(steps):
        texts = (text(random), "", " \n")
        payloads = (document(random), document(random, 0), *texts, None, step, random.randbytes(5))
        found = {
            "_id": random.choice((ObjectId(), step, str(step))),
            "aggregatetype": random.choice(("order", "other", "customer")),
            "kind": random.choice(("order", "ok")),
            "aggregateid": random.choice((str(step), step, ObjectId())),
            "payload": random.choice(payloads),
            "at": Int64(1_700_000_000_000 + step),
            "number": step % 3,
            "flag": True,
            "half": step / 2,
            "when": datetime.fromtimestamp(random.choice((60, 86400, 1e9 + 0.5)), UTC),
            "nested": {"a": [1, 2], "b": {"c": "d"}},
        }
        if random.random() < 0.8:
            found["sometimes"] = "x"
        if random.random() < 0.05:
            del found[random.choice(list(found.keys() - {"_id"}))]
        collection.insert_one(found)
        if random.random() < 0.1:
            collection.update_one({"_id": found["_id"]}, {"$set": {"kind": "u"}})
        if random.random() < 0.3:
            collection.delete_one({"_id": found["_id"]})


def write(client: MongoClient[Any], random: Random, steps: int) -> None:
    """Inserts, updates, replacements and deletes, some in transactions."""
    collection = client[COLLECTION[0]][COLLECTION[1]]
    collection.insert_one({"_id": -1, "of_arrays": [[]], "of_both": [[1], []]})
    for step in range(steps):
        key = random.choice((step, str(step), ObjectId(), {"k": step, "n": [1.5]}))
        with client.start_session() as session:
            if random.random() < 0.3:
                session.start_transaction()
            collection.insert_one({"_id": key, **document(random)}, session=session)
            for _ in range(random.randint(0, 2)):
                changes = {name: value(random) for name in random.sample(_NAMES, 2)}
                if random.random() < 0.5:
                    changes = {"new.deep": leaf(random), "other": document(random, 1)}
                collection.update_one({"_id": key}, {"$set": changes}, session=session)
            if random.random() < 0.4:
                collection.replace_one({"_id": key}, document(random), session=session)
            if random.random() < 0.5:
                collection.delete_one({"_id": key}, session=session)
            if session.in_transaction:
                session.commit_transaction()


def _regex(random: Random) -> Regex[str]:
    return Regex(text(random).replace("\0", ""), random.choice(("", "i", "imsx")))
