"""A slice of `make soak-parser`: workloads of fixed seeds and of fresh ones on one node."""

import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from cassandra import OperationTimedOut

from tests.oracle.soak_parser.comparison import first_difference, uncommented
from tests.oracle.soak_parser.content import KINDS
from tests.oracle.soak_parser.nodes import DEFAULT_NODES, NodeKind
from tests.oracle.soak_parser.recording import Recorded, Recorder
from tests.oracle.soak_parser.rounds import Totals, recorder_of, run_round
from tests.support.servers.cache import cache_directory
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.workloads.soak import Workload, workload

WORKLOADS = {"5.0.9-none:plain": 6, "6.0-alpha2-none:direct": 2}


@dataclass(frozen=True, slots=True)
class Running:
    """A node with its kind."""

    kind: NodeKind
    recorder: Recorder


@pytest.fixture(scope="module", params=WORKLOADS)
def running(request: pytest.FixtureRequest) -> Iterator[Running]:
    kind = NodeKind(request.param)
    # In the cache folder: the temporary one may be in memory, which has no direct I/O.
    with tempfile.TemporaryDirectory(prefix="soak-", dir=cache_directory()) as scratch:
        settings = kind.settings(Path(scratch))
        with CassandraNode(Path(scratch), version=kind.version, settings=settings) as node:
            yield Running(kind, recorder_of(node))


@pytest.mark.servers
@pytest.mark.parametrize("first", [1, None], ids=["fixed", "fresh"])
def test_every_reader_agrees(running: Running, first: int | None, tmp_path: Path) -> None:
    kind, count = running.kind, WORKLOADS[running.kind.label]
    start = first if first is not None else random.SystemRandom().randrange(100, 1 << 30)
    print(f"make soak-parser ARGS='--node {kind.label} --seed {start} --workloads {count}'")
    totals = Totals()
    run_round(running.recorder, kind, range(start, start + count), tmp_path / "kept", totals)
    assert not totals.unfinished
    assert totals.failures == []
    assert totals.workloads == count
    assert totals.content["cells"] > 100
    assert totals.content["events"] > 100
    assert totals.refused.total() < totals.accepted / 5, totals.refused.most_common(5)


class _HungRecorder(Recorder):
    """The node does not answer the third workload."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def run(self, workload: Workload) -> Recorded:
        self.calls.append(workload.keyspace)
        if len(self.calls) == 3:
            raise OperationTimedOut
        return Recorded(workload, "", 1, Counter())

    def restart(self) -> None:
        self.calls.append("restart")


def test_workloads_of_a_hung_node_do_not_count(tmp_path: Path) -> None:
    recorder, totals = _HungRecorder(), Totals()
    run_round(recorder, NodeKind("6.0-alpha2"), range(5), tmp_path, totals)
    assert recorder.calls == ["w0", "w1", "w2", "restart"]
    assert totals.unfinished.total() == 5
    assert (totals.workloads, totals.accepted, totals.failures) == (0, 0, [])


class _RestartedNode:
    """Writes a segment at each start, and the next one when that is closed."""

    version = "6.0-alpha2"
    settings = NodeSettings()

    def __init__(self, folder: Path) -> None:
        self.commitlog, self.cdc_raw = folder / "commitlog", folder / "cdc_raw"
        self.commitlog.mkdir()
        self.cdc_raw.mkdir()
        self._write(10)

    def _write(self, number: int) -> None:
        (self.commitlog / f"CommitLog-9-{number}.log").touch()

    def session(self) -> object:
        return SimpleNamespace(cluster=SimpleNamespace())

    def restart(self, *, clean: bool) -> None:
        assert not clean
        self._write(20)

    def close_segment(self) -> None:
        self._write(21)


def test_a_restarted_node_gives_its_new_segments_alone(tmp_path: Path) -> None:
    recorder = Recorder(cast("CassandraNode", _RestartedNode(tmp_path)))
    recorder.restart()
    (tmp_path / "copies").mkdir()
    names = [path.name for path in recorder.segments(tmp_path / "copies")]
    assert names == ["CommitLog-9-20.log"]


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


@pytest.mark.parametrize("label", ["", "5.0.9:gzip", "5.0.9-later", "5.0", "6.0-alpha2-"])
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
