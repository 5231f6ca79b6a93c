"""Many small rows and a few values larger than a section of a compressed segment."""

import random

from tests.support.workloads.cql_types import scalar
from tests.support.workloads.literals import literal
from tests.support.workloads.scenario import Release, Scenario, create_keyspace

KEYSPACE = "large"
_SIZES_BYTES = (70_000, 150_000, 1)


def build(release: Release, seed: int) -> Scenario:
    """The recorded workload. A CQL text is limited to half a segment, hence the largest value."""
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
    # Zeros and noise: one compresses to nothing, the other not at all.
    values = [bytes(size) for size in _SIZES_BYTES] + [rng.randbytes(20_000)]
    statements += [
        f"INSERT INTO {table} (p, c, b) VALUES (8, {row}, 0x{value.hex()})"
        for row, value in enumerate(values)
    ]
    return Scenario("large", schema, tuple(statements))
