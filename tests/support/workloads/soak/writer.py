"""What the statements of one table have in common: keys, times and times to live."""

import random
from dataclasses import dataclass

from tests.support.workloads.cql_types import NEVER_EMPTY, SCALARS, CqlType
from tests.support.workloads.literals import empty_literal, literal
from tests.support.workloads.random_tables import TableShape
from tests.support.workloads.soak.tables import SoakTable

_BASE_US = 1_600_000_000_000_000
_EXTREMES_US = (0, 1, -1, 1 << 53, 4_000_000_000_000_000, (1 << 63) - 1, -(1 << 63) + 1)
_TTLS_S = (0, 1, 60, 86_400, 1_000_000, 300_000_000)
_LONGEST_TTL_S = 630_720_000


@dataclass(frozen=True, slots=True)
class Writer:
    """Makes the statements of one table. `is_timed`: statements may carry their own times, which
    those of a conditional batch, or of a batch with a time, may not."""

    rng: random.Random
    table: TableShape
    is_far: bool = False
    is_timed: bool = True
    has_places: bool = True
    """Whether writes name places in lists, which a node rejects when the list is shorter."""

    def partition(self) -> list[str]:
        values = self.rng.choice(self.table.partitions)
        return [f"{c.name} = {v}" for c, v in zip(self.table.partition, values, strict=True)]

    def clustering(self, count: int) -> list[str]:
        pairs = zip(self.table.clustering[:count], self.table.clusterings, strict=False)
        return [f"{column.name} = {self.rng.choice(values)}" for column, values in pairs]

    def row(self) -> str:
        return " AND ".join(self.partition() + self.clustering(len(self.table.clustering)))

    def value(self, of: CqlType) -> str:
        """A literal, null, or an empty value where the type has one."""
        choice = self.rng.random()
        if choice < 0.1:
            return "null"
        if choice < 0.14 and of.name in SCALARS and of.name not in NEVER_EMPTY:
            return empty_literal(of)
        if choice < 0.143 and of.name in ("blob", "text"):
            # Longer than a length of two bytes can say, now and then than what is read at once.
            most = (20_000, 90_000) if choice < 0.142 else (1 << 20, 5 << 19)
            size = self.rng.randrange(*most)
            return f"0x{self.rng.randbytes(size).hex()}" if of.name == "blob" else f"'{'x' * size}'"
        return literal(self.rng, of)

    def element(self, of: CqlType) -> str:
        """A key or an element of a collection."""
        return literal(self.rng, of)

    def elements(self, of: CqlType) -> str:
        """What is added to a set or a list, or removed from it."""
        return literal(self.rng, of)

    def time(self) -> list[str]:
        assert isinstance(self.table, SoakTable)
        time_us = random_time_us(self.rng, self.table.times)
        return [] if time_us is None or not self.is_timed else [f"TIMESTAMP {time_us}"]

    def ttl(self) -> list[str]:
        if self.rng.random() >= 0.2:
            return []
        return [f"TTL {self.rng.choice((*_TTLS_S, _LONGEST_TTL_S) if self.is_far else _TTLS_S)}"]

    def using(self, *, ttl: bool = True) -> str:
        options = self.time() + (self.ttl() if ttl else [])
        return f" USING {' AND '.join(options)}" if options else ""


def random_time_us(rng: random.Random, times: str) -> int | None:
    """A write time; None is the node's clock."""
    if times == "clock" or rng.random() < 0.2:
        return None
    if times == "ties":
        return _BASE_US + rng.randrange(12)
    choice = rng.random()
    if choice < 0.2:
        return rng.randrange(-(1 << 63) + 1, 1 << 63)
    return rng.choice(_EXTREMES_US)
