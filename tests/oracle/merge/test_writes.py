"""Random writes are equal for equal seeds, and contain the intended kinds."""

import re

import pytest
from cassandra import InvalidRequest

from tests.oracle.merge.writes import SHORT_TTL_S, Write, random_writes, run


def writes(seed: int) -> list[Write]:
    return list(random_writes(seed, 4000, keyspace="random"))


def test_a_seed_repeats_its_writes() -> None:
    assert writes(7) == writes(7) != writes(8)


def test_places_in_lists_and_short_ttls_are_among_them() -> None:
    found = [write for seed in range(3) for write in writes(seed)]
    refusable = [write for write in found if write.may_be_rejected]
    assert {write.text.split()[0] for write in refusable} == {"UPDATE", "DELETE"}
    short_ttl = re.compile(rf" USING TTL {SHORT_TTL_S}(?!\d)")
    short = [write.text for write in found if short_ttl.search(write.text)]
    assert short
    # Ties between cells of which some have expired are not decided by the events alone.
    assert not [text for text in short if "TIMESTAMP" in text]


class Refusing:
    """A session of a node that rejects every statement."""

    def execute(self, text: str) -> None:
        raise InvalidRequest(text)


def test_only_permitted_rejections_are_ignored() -> None:
    assert run(Refusing(), Write("DELETE l[0] …", may_be_rejected=True)) is False
    with pytest.raises(InvalidRequest):
        run(Refusing(), Write("DELETE l …"))
