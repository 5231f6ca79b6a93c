"""A slice of `make soak-parser`: workloads of fixed seeds and of fresh ones on one node."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.oracle.soak_parser.comparison import first_difference, uncommented
from tests.oracle.soak_parser.content import KINDS
from tests.oracle.soak_parser.nodes import DEFAULT_NODES, NodeKind
from tests.oracle.soak_parser.recording import Recorder
from tests.oracle.soak_parser.rounds import Totals, recorder_of, run_round
from tests.support.servers.cassandra import CassandraNode
from tests.support.workloads.soak import workload

KIND = NodeKind("5.0.9-none:plain")
WORKLOADS = 6


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorder]:
    folder = tmp_path_factory.mktemp("node")
    settings = KIND.settings(folder)
    with CassandraNode(folder, version=KIND.version, settings=settings) as node:
        yield recorder_of(node)


@pytest.mark.servers
@pytest.mark.parametrize("first", [1, None], ids=["fixed", "fresh"])
def test_every_reader_agrees(recorder: Recorder, first: int | None, tmp_path: Path) -> None:
    start = first if first is not None else random.SystemRandom().randrange(100, 1 << 30)
    print(f"make soak-parser ARGS='--node {KIND.label} --seed {start} --workloads {WORKLOADS}'")
    totals = Totals()
    run_round(recorder, KIND, range(start, start + WORKLOADS), tmp_path / "kept", totals)
    assert totals.failures == []
    assert totals.workloads == WORKLOADS
    assert totals.content["cells"] > 100
    assert totals.content["events"] > 100
    assert totals.refused.total() < totals.accepted / 5, totals.refused.most_common(5)


@pytest.mark.parametrize("kind", DEFAULT_NODES, ids=lambda kind: kind.label)
def test_workloads_are_functions_of_their_seeds(kind: NodeKind) -> None:
    for seed in range(5):
        found = workload(seed, kind.release, is_far=kind.is_far)
        assert found == workload(seed, kind.release, is_far=kind.is_far)
        assert found.steps[0].cql.startswith("CREATE KEYSPACE")
        if kind.release < (5, 0):
            assert not any("vector<" in step.cql for step in found.steps)


def test_workloads_have_everything() -> None:
    texts = [step.cql for seed in range(80) for step in workload(seed, (5, 0)).steps]
    for word in (
        *("ALTER TABLE", " ADD ", " DROP ", "ALTER TYPE", "RENAME", "DROP TABLE"),
        *("BEGIN BATCH", "BEGIN UNLOGGED", "BEGIN COUNTER", " IF NOT EXISTS", " IF EXISTS"),
        *("COMPACT STORAGE", "MATERIALIZED VIEW", "counter", "vector<", "STATIC", " DESC"),
        *("USING TIMESTAMP", "TTL 300000000", "frozen<tuple<", "c32", "v60", "(c0, c1) >"),
    ):
        assert any(word in text for text in texts), word


@pytest.mark.parametrize("label", ["", "5.0.9:gzip", "5.0.9-later", "5.0"])
def test_answer_of_another_server(label: str) -> None:
    with pytest.raises(ValueError, match="is no node"):
        NodeKind(label)


def test_a_difference_is_found_where_it_is() -> None:
    one = {"a": [1, {"b": 2, "c": [3, 4]}], "d": 5}
    other = {"a": [1, {"b": 2, "c": [3, 9]}], "d": 5}
    assert first_difference(one, other) == (".a[1].c[1]", 4, 9)
    assert first_difference([1], [1, 2]) == ("", [1], [1, 2])


def test_commented_tables_are_read_as_they_are() -> None:
    text = (
        "/*\nWarning: Table k.t omitted because it has constructs not compatible with CQL.\n"
        "(this should not be used to reproduce this schema)\n\nCREATE TABLE k.t (\n    p int\n) "
        "WITH COMPACT STORAGE\n    AND ID = 1\n    AND CLUSTERING ORDER BY (column1 ASC)\n"
        "    AND comment = '';\n*/\n\nCREATE TABLE k.u (p int);\n"
    )
    assert uncommented(text) == (
        "CREATE TABLE k.t (\n    p int\n) WITH COMPACT STORAGE\n    AND ID = 1\n"
        "    AND comment = '';\n\nCREATE TABLE k.u (p int);\n"
    )


def test_kinds_are_counted_by_name() -> None:
    assert len(set(KINDS)) == len(KINDS)
