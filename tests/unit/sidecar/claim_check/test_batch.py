from sidecar.claim_check.batch import ClaimCheckBatch
from sidecar.events import Message
from tests.support.segments.batches import ListBatch

SMALL: Message = ("t", b"1", b"2", [("cdc.id", b"1")], 5)
LARGE: Message = ("t", b"1", b"7" * 100, [("cdc.id", b"2")], 6)
REFERENCE: Message = ("t", b"1", b"{}", [("cdc.id", b"2")], 6)


def batch(*messages: Message) -> ClaimCheckBatch[int]:
    return ClaimCheckBatch(ListBatch(0, (1,) * len(messages), messages))


def test_oversized_events_are_found_in_order() -> None:
    found = batch(LARGE, SMALL, ("t", b"k" * 99, None, [], 0), *[SMALL] * 600, LARGE)
    for index in (0, 2, 603):
        assert found.next_oversized(50) == index
        found.settle(index, None)
    assert found.next_oversized(50) is None


def test_without_references_the_batch_answers_itself() -> None:
    original = ListBatch(0, (1, 1), (SMALL, LARGE))
    found = ClaimCheckBatch(original)
    assert found.messages(0, 2) == original.messages(0, 2)
    assert found.ndjson(0, 2) == original.ndjson(0, 2)
    assert (len(found), found.size_bytes) == (2, original.size_bytes)
    assert found.position_after(1) == original.position_after(1)


def test_references_are_in_every_form() -> None:
    found = batch(SMALL, LARGE, SMALL)
    assert found.next_oversized(50) == 1
    found.settle(1, REFERENCE)
    assert found.messages(0, 3) == [SMALL, REFERENCE, SMALL]
    assert found.messages(1, 2) == [REFERENCE]
    arguments = found.produce_arguments(1, 3, lambda topic: 4, lambda *_: None)
    assert [(each[1], each[3]) for each in arguments] == [(b"{}", 2), (b"2", 1)]
    assert b"7777" not in found.ndjson(0, 3)
    assert found.original(1) == LARGE
