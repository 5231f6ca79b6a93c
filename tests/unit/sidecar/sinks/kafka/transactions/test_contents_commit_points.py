"""Points at which a transaction can end."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from sidecar.sinks.kafka.transactions.contents import last_commit_point, next_commit_point
from tests.support.segments.batches import ListBatch

mutations = st.lists(st.integers(0, 5), min_size=1, max_size=20)


def boundaries(batch: ListBatch) -> set[int]:
    """Ends of the mutations, computed by definition."""
    return {0, *itertools.accumulate(batch.mutations)}


@given(mutations, st.integers(-2, 120))
def test_commit_points_are_ends_of_mutations(sizes: list[int], events: int) -> None:
    """Commit points never split events that belong together, such as a snapshot chunk."""
    batch = ListBatch(30, tuple(sizes))
    ends = boundaries(batch)
    assert next_commit_point(batch, events) == min(
        (e for e in ends if e >= events), default=len(batch)
    )
    assert last_commit_point(batch, events) == max((e for e in ends if e <= events), default=0)
