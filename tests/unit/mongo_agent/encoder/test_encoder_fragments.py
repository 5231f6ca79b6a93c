"""Events that the server split because they were too large, joined again."""

import bson
import pytest
from bson import Int64

from mongo_agent.encoder import ChangeEvents, FragmentJoiner, MongoEncoder
from tests.support.mongodb.bson_documents import CODEC, encoded, event


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


def join(fragments: list[bytes]) -> bytes:
    joiner = FragmentJoiner()
    events, skipped = joiner.join(ChangeEvents(fragments))
    (event,) = events
    assert (skipped, joiner.is_complete) == (0, True)
    return event


def test_parts_become_one_event() -> None:
    whole = event("update", Int64(7), fullDocument={"n": "x"}, updateDescription={})
    parts = parts_of(whole, [2, 0, 3])
    joined = join(parts)
    assert list(FragmentJoiner().join(ChangeEvents([joined]))[0]) == [joined]
    read = bson.decode(joined)
    assert read.pop("_id") == bson.decode(parts[-1])["_id"]
    expected = bson.decode(whole)
    del expected["_id"]
    assert read == expected
    batch = MongoEncoder(topic_prefix="L", replica_set="rs0", node_id="a").encode([joined])
    assert (len(batch), batch.failures) == (1, [])


def test_parts_of_several_replies() -> None:
    whole = event("insert")
    first, second, third = parts_of(whole, [2, 3])
    for skips, expected in ((False, [whole, join([first, second, third])]), (True, [whole])):
        joiner = FragmentJoiner(skips_split_events=skips)
        replies = (ChangeEvents([whole, first]), ChangeEvents([memoryview(second), third]))
        joined = [(*joiner.join(reply), joiner.is_complete) for reply in replies]
        assert [event for events, _, _ in joined for event in events] == expected
        assert [rest for _, *rest in joined] == [[0, False], [int(skips), True]]


def test_mismatched_fragments_and_other_numbers_are_errors() -> None:
    _, second = parts_of(event("insert"), [3])
    with pytest.raises(ValueError, match="found fragment 2 of 2; expected fragment 1 of 2"):
        join([second])
    with pytest.raises(IndexError, match="no event 1; the batch has 1"):
        ChangeEvents([second]).time(1)


def test_events_after_a_token() -> None:
    parts = ChangeEvents(parts_of(event("insert"), [1, 2]))
    token = bson.decode(parts[1])["_id"]["_data"]
    assert list(parts.after(token)) == [parts[2]]
    assert list(parts.after(token.lower())) == [parts[2]]
    for events, other in ((parts, "01"), (ChangeEvents([b"noise"]), token)):
        with pytest.raises(ValueError, match="does not begin with a cluster time"):
            events.after(other)
