"""Random histories of a collection, with elections and primaries whose clocks jump."""

from random import Random

from tests.support.spark.mongo_topic import Collection

IDS = ("7", '"a"', '{"$oid": "596e275826f08b2730779e1f"}')
STEPS = ("write", "write", "write", "delete", "transaction", "replay", "snapshot", "election")
WRITERS = ("agent", "debezium", "debezium, then agent")
MOST_STEPS = 14
MOST_AHEAD_MS = 3_600_000


def history(random: Random, db: str) -> Collection:
    """Writes before the start of the writer are only in the snapshot.

    An agent's events are in any partition; without a cluster time a document has one partition.
    """
    writer = random.choice(WRITERS)
    is_scattered = writer == "agent" and random.random() < 0.5
    collection = Collection(
        db,
        is_agent=writer == "agent",
        partition=lambda key: random.randrange(3) if is_scattered else len(key) % 3,
    )
    for key in random.sample(IDS, random.randint(0, len(IDS))):
        collection.write(key, f'{{"_id": {key}, "old": true}}')
    collection.records.clear()
    steps = random.choices(STEPS, k=random.randint(0, MOST_STEPS))
    place = random.randint(0, len(steps))
    first = 0
    for number, step in enumerate([*steps[:place], "snapshot", *steps[place:]]):
        if number == place and writer == "debezium, then agent":
            collection.is_agent, first = True, len(collection.records)
        collection.tick(is_new_second=random.random() < 0.5)
        key = random.choice(IDS)
        document = f'{{"_id": {key}, "n": {number}}}'
        match step:
            case "write":
                collection.write(key, document)
            case "delete":
                collection.delete(key, has_tombstone=random.random() < 0.5)
            case "transaction":
                collection.transaction(key, [document, f"{document[:-1]}, 'last': true}}"])
            case "snapshot":
                collection.snapshot()
            case "replay":
                # A writer repeats only its own events.
                collection.replay(random.randint(first, len(collection.records)))
            case "election":
                collection.ahead_ms = random.randint(-MOST_AHEAD_MS, MOST_AHEAD_MS)
    return collection


def drawn_histories(count: int, seed: int) -> list[Collection]:
    """Histories in databases of their own, so that one Spark job reads all of them."""
    random = Random(seed)
    return [history(random, f"db{number}") for number in range(count)]
