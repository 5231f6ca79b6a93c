"""A slice of `make soak-parser`: workloads of fixed and fresh seeds on one node."""

import random
import tempfile
from pathlib import Path

import pytest

from tests.oracle.soak_parser.nodes import NodeKind
from tests.oracle.soak_parser.recording import Recorder
from tests.oracle.soak_parser.rounds import Totals, run_round
from tests.support.servers.cache import cache_directory
from tests.support.servers.cassandra import CassandraNode


@pytest.mark.slow
@pytest.mark.servers
@pytest.mark.parametrize(
    ("label", "count"), [("5.0.9-none:plain", 6), ("6.0-alpha2-none:direct", 2)]
)
def test_all_readers_agree_on_random_workloads(label: str, count: int, tmp_path: Path) -> None:
    kind, totals = NodeKind(label), Totals()
    start = random.SystemRandom().randrange(100, 1 << 30)
    print(f"make soak-parser ARGS='--node {label} --seed {start} --workloads {count}'")
    seeds = [*range(1, 1 + count), *range(start, start + count)]
    # In the cache folder: the temporary folder may be in memory, which has no direct I/O.
    with tempfile.TemporaryDirectory(prefix="soak-", dir=cache_directory()) as scratch:
        settings = kind.settings(Path(scratch))
        with CassandraNode(Path(scratch), version=kind.version, settings=settings) as node:
            run_round(Recorder(node), kind, seeds, tmp_path / "kept", totals)
    assert not totals.unfinished
    assert totals.failures == []
    assert totals.workloads == len(seeds)
    assert totals.content["cells"] > 100
    assert totals.content["events"] > 100
    assert totals.refused.total() < totals.accepted / 5, totals.refused.most_common(5)
