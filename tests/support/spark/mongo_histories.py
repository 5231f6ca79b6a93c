"""Random histories of a collection."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.spark.mongo_topic import Collection

IDS = ("7", '"a"', '{"$oid": "596e275826f08b2730779e1f"}')


@st.composite
def histories(draw: st.DrawFn, db: str) -> Collection:
    """Writes before the start of the agent are only in the snapshot."""
    collection = Collection(db)
    for key in draw(st.sets(st.sampled_from(IDS))):
        collection.write(key, f'{{"_id": {key}, "old": true}}')
    collection.records.clear()
    steps = draw(st.lists(st.sampled_from(STEPS), max_size=8))
    place = draw(st.integers(0, len(steps)))
    for number, step in enumerate([*steps[:place], "snapshot", *steps[place:]]):
        collection.tick(is_new_second=draw(st.booleans()) or step == "snapshot")
        key = draw(st.sampled_from(IDS))
        document = f'{{"_id": {key}, "n": {number}}}'
        match step:
            case "write":
                collection.write(key, document)
            case "delete":
                collection.delete(key, has_tombstone=draw(st.booleans()))
            case "transaction":
                collection.transaction(key, [document, f"{document[:-1]}, 'last': true}}"])
            case "snapshot":
                collection.snapshot()
            case "replay":
                collection.replay(draw(st.integers(0, len(collection.records))))
    return collection


STEPS = ("write", "write", "write", "delete", "transaction", "replay", "snapshot")


def drawn_histories(count: int) -> list[Collection]:
    """Histories in databases of their own, so that one Spark job reads all of them."""
    drawn: list[Collection] = []

    @settings(max_examples=count, database=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def gather(data: st.DataObject) -> None:
        drawn.append(data.draw(histories(f"db{len(drawn)}")))

    gather()
    return drawn
