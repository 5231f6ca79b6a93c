"""Ranges with rows of any size, on a node that fails above a page size."""

import math
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from agent.snapshot.connection import Page
from agent.snapshot.errors import ReplicasDownError, ReplicasMissingError
from agent.snapshot.range_reader import PageSize, RangeReader
from agent.snapshot.ring import TokenRange
from commitlog import EventBatch
from sidecar.errors import UnavailableError
from sidecar.fetch_size import Throttle

PAGE_BYTES = 2 << 20
LARGEST_BYTES = 5_000_000
FAILURES = (UnavailableError("the connection was lost"), ReplicasMissingError("0 of 1 answered"))


@dataclass
class Node:
    """Rows with the tokens 1, 2, …; a page of several rows above `bound` bytes fails."""

    sizes: list[int]
    bound: int
    random: Random
    failures: list[int] = field(default_factory=list)
    largest: int = 0

    def ask(self, cql: str, _consistency: str, rows: int, next_page: bytes | None) -> "Answer":
        return Answer(self, int(cql if next_page is None else next_page), rows)


@dataclass
class Answer:
    node: Node
    start: int
    rows: int

    def result(self) -> Page:
        node, stop = self.node, self.start + self.rows
        page = node.sizes[self.start : stop]
        size_bytes = sum(page)
        node.largest = max(node.largest, size_bytes if len(page) > 1 else 0)
        if size_bytes > node.bound and len(page) > 1:
            node.failures.append(self.rows)
            raise node.random.choice(FAILURES)
        body = len(page).to_bytes(4) + self.start.to_bytes(8) + bytes(size_bytes)
        return Page(body, str(stop).encode() if stop < len(node.sizes) else None, 0)


@dataclass
class Batch:
    rows: range
    size_bytes: int

    @property
    def end_position(self) -> int:
        return self.rows.stop + (1 << 63)


@dataclass
class Encoder:
    """Events have `expansion` times the bytes of their rows."""

    expansion: float

    def cql(self, after: int, _to: int) -> str:
        return str(after)

    def encode(self, page: bytes, **_: object) -> EventBatch:
        rows, start = int.from_bytes(page[:4]), int.from_bytes(page[4:12])
        batch = Batch(range(start, start + rows), round(self.expansion * len(page)))
        return cast(EventBatch, batch)


def sizes_of(random: Random) -> list[int]:
    found: list[int] = []
    while len(found) < 300:
        largest = math.log(random.choice([10, 1_000, 100_000, LARGEST_BYTES]))
        found += [
            round(math.exp(random.uniform(0, largest))) for _ in range(random.choice([1, 20, 200]))
        ]
    return found


def reader_of(
    node: Node, encoder: Encoder, token_range: TokenRange, start: int, size: PageSize
) -> RangeReader:
    pages: Any = node
    encoders: Any = encoder
    return RangeReader(pages, encoders, token_range, start, "ONE", size, Throttle(None))


@given(st.integers(0), st.integers(LARGEST_BYTES, 8 * PAGE_BYTES), st.floats(0.5, 10))
def test_every_row_is_copied_with_few_failed_pages(seed: int, bound: int, expansion: float) -> None:
    random = Random(seed)
    node = Node(sizes_of(random), bound, random)
    size, copied = PageSize(PAGE_BYTES, None), list[int]()
    while len(copied) < len(node.sizes):
        # Like the worker: after a failure a new reader starts after the last row.
        whole = TokenRange(0, len(node.sizes))
        reader = reader_of(node, Encoder(expansion), whole, len(copied), size)
        try:
            while not reader.is_done:
                batch = cast(Batch, reader.read())
                copied += batch.rows
                assert len(batch.rows) == 1 or sum(node.sizes[each] for each in batch.rows) <= (
                    2 * PAGE_BYTES
                )
        except UnavailableError:
            assert size.rows <= max(1, node.failures[-1] // 2)
    assert copied == list(range(len(node.sizes)))
    assert node.failures == sorted(set(node.failures), reverse=True)
    assert len(node.failures) <= math.log2(len(node.sizes)) + 2


def test_unavailable_replicas_do_not_change_page_size() -> None:
    class DownNode(Node):
        def ask(self, *_: object) -> "Answer":
            raise ReplicasDownError("0 of 1 replicas are up")

    size = PageSize(PAGE_BYTES, None)
    assert size.accept(1, 10)
    node = DownNode([1], 1, Random())
    reader = reader_of(node, Encoder(1), TokenRange(0, 1), 0, size)
    for _ in range(3):
        try:
            reader.read()
        except ReplicasDownError:
            assert size.rows == 2
