"""Events that the server split because they were too large, joined again."""

import bson
import pytest
from bson import Int64, Timestamp
from hypothesis import given
from hypothesis import strategies as st

from mongo_agent.encoder import MongoEncoder, event_times, join_fragments, split_of
from tests.support.bson_documents import (
    CODEC,
    SHORT_DOUBLES,
    Json,
    documents,
    encoded,
    event,
)


def parts_of(whole: bytes, sizes: list[int]) -> list[bytes]:
    """An event in parts of so many members, as a server sends them: tokens differ at their end."""
    members = [(name, value) for name, value in bson.decode(whole, CODEC).items() if name != "_id"]
    groups = []
    for size in sizes:
        groups.append(members[:size])
        members = members[size:]
    groups.append(members)
    return [
        encoded(
            {
                "_id": {"_data": f"8263D2A4F6000000022B042C0100296E5A10042B{number:02X}04"},
                "splitEvent": {"fragment": number, "of": len(groups)},
                **dict(group),
            }
        )
        for number, group in enumerate(groups, 1)
    ]


def test_parts_become_one_event() -> None:
    whole = event("update", Int64(7), fullDocument={"n": "x"}, updateDescription={})
    parts = parts_of(whole, [2, 0, 3])
    assert [split_of(part) for part in parts] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    joined = join_fragments(parts)
    assert split_of(joined) is None
    read = bson.decode(joined)
    assert read.pop("_id") == bson.decode(parts[-1])["_id"]
    expected = bson.decode(whole)
    del expected["_id"]
    assert read == expected
    batch = MongoEncoder(topic_prefix="L", replica_set="rs0", node_id="a").encode([joined])
    assert (len(batch), batch.refused) == (1, [])


@given(documents(SHORT_DOUBLES), st.lists(st.integers(0, 4), max_size=5))
def test_however_an_event_is_split_it_is_the_same(document: Json, sizes: list[int]) -> None:
    whole = event("replace", fullDocument=document)
    making = MongoEncoder(topic_prefix="L", replica_set="rs0", node_id="a")
    joined = join_fragments(parts_of(whole, sizes))
    one, other = making.encode([whole, joined], at_ns=1).messages(0, 2)
    assert one == other


def test_what_is_not_one_event_is_refused() -> None:
    first, second = parts_of(event("insert"), [3])
    with pytest.raises(ValueError, match="part 2 of 2 stands where part 1 of 1 is expected"):
        join_fragments([second])
    with pytest.raises(ValueError, match='two parts of a split event have "operationType"'):
        join_fragments([first, encoded({**bson.decode(second), "operationType": "drop"})])
    with pytest.raises(ValueError, match="part 1 of a split event has no splitEvent"):
        join_fragments([event("insert"), second])
    assert split_of(b"") is None
    assert split_of(memoryview(second)) == (2, 2)


def test_times_of_a_list() -> None:
    def at(seconds: int) -> bytes:
        return encoded({"clusterTime": Timestamp(seconds, 3)})

    parts = parts_of(event("insert"), [0])
    assert event_times([at(5), at(6), at(9)]) == ((5, 3), (9, 3))
    assert event_times([parts[0], b""]) == ((1674749174, 2), (1674749174, 2))
    assert event_times([]) is None
    assert event_times([b"noise"]) is None
