"""Many small rows and a few values larger than a section of a compressed segment."""

import random

from tests.workloads.cql_types import scalar
from tests.workloads.literals import literal
from tests.workloads.scenario import Release, Scenario, create_keyspace

KEYSPACE = "large"
_SIZES_BYTES = (70_000, 200_000, 1)


def build(release: Release, seed: int) -> Scenario:
    """The recorded workload; its last writes are prepared ones with values of up to 200 kB."""
    rng = random.Random(f"large {seed}")
    table = f"{KEYSPACE}.t"
    schema = (
        create_keyspace(KEYSPACE),
        f"CREATE TABLE {table} (p int, c int, v text, b blob, PRIMARY KEY (p, c)) WITH cdc = true",
    )
    statements = [
        f"INSERT INTO {table} (p, c, v) VALUES ({row % 7}, {row}, {literal(rng, scalar('text'))})"
        for row in range(200)
    ]
    statements += [f"DELETE FROM {table} WHERE p = {p} AND c < 50" for p in range(7)]
    insert = f"INSERT INTO {table} (p, c, b) VALUES (?, ?, ?)"
    # Zeros and noise: one compresses to nothing, the other not at all.
    binary = [(insert, (8, size, bytes(size))) for size in _SIZES_BYTES]
    binary.append((insert, (8, 0, rng.randbytes(20_000))))
    return Scenario("large", schema, tuple(statements), tuple(binary))
