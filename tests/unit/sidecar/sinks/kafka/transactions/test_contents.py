"""Contents of a transaction."""

from hypothesis import given
from hypothesis import strategies as st

from sidecar.events import NumberedBatch
from sidecar.sinks.kafka.in_flight import BatchSlice
from sidecar.sinks.kafka.transactions.contents import TransactionContents
from tests.support.segments.batches import ListBatch


def batch(events: int, first: int) -> NumberedBatch[str, int]:
    return NumberedBatch("a", ListBatch(0, (1,) * events), first)


def hand_over_again(contents: TransactionContents, events: int) -> list[int]:
    """Resend in chunks, as a sink does; return the numbers of the sent events."""
    sent: list[int] = []
    while (piece := contents.unsent) is not None:
        chunk = BatchSlice(piece.numbered, piece.first, min(piece.stop, piece.first + events))
        sent += [
            number for number, _ in contents.without_excluded(chunk.numbers, [None] * len(chunk))
        ]
        contents.sent(chunk)
    return sent


def test_consecutive_runs_of_batch_are_merged() -> None:
    contents = TransactionContents()
    numbered = batch(10, first=100)
    contents.sent(BatchSlice(numbered, 0, 4))
    contents.sent(BatchSlice(numbered, 4, 10))
    assert (contents.events, contents.size_bytes) == (10, 70)
    assert contents.committed() == [range(100, 110)]
    assert (contents.events, contents.size_bytes, contents.committed()) == (0, 0, [])


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=6),
    st.sets(st.integers(0, 60)),
    st.integers(1, 7),
    st.integers(0, 3),
)
def test_aborted_transaction_resends_all_but_rejected_events(
    sizes: list[int], refused: set[int], chunk_events: int, aborts: int
) -> None:
    contents = TransactionContents()
    first = 0
    for size in sizes:
        contents.sent(BatchSlice(batch(size, first), 0, size))
        first += size
    for number in refused:
        contents.exclude(number)
    kept = [number for number in range(first) if number not in refused]
    for _ in range(aborts):
        contents.aborted()
        assert hand_over_again(contents, chunk_events) == kept
    assert contents.events == first
    assert [number for run in contents.committed() for number in run] == kept


def test_interrupted_resend_resumes() -> None:
    contents = TransactionContents()
    numbered = batch(6, first=0)
    contents.sent(BatchSlice(numbered, 0, 6))
    contents.aborted()
    contents.sent(BatchSlice(numbered, 0, 2))
    contents.aborted()
    assert hand_over_again(contents, 4) == list(range(6))
    assert contents.committed() == [range(6)]
