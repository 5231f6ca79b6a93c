"""The modules whose mutants are drawn, and the tests of each."""

from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, slots=True)
class Module:
    """`files` are globs; `without` are files that belong to another module, or decide nothing.

    The tests of the tiers (see `trial`): `own_tests` are the first. Of Rust, `room_tests` and the
    tests of `crates`, which begin with the crate of the files, are the second, and `wide_tests`
    the third. `crate_tests` is cargo's choice of those that can reach the files. `server_tests`
    need servers or a Spark session and run on demand.
    """

    name: str
    files: tuple[str, ...]
    own_tests: tuple[str, ...]
    crates: tuple[str, ...] = ()
    crate_tests: tuple[str, ...] = ()
    room_tests: tuple[str, ...] = ()
    wide_tests: tuple[str, ...] = ()
    server_tests: tuple[str, ...] = ()
    without: frozenset[str] = frozenset()

    @property
    def is_rust(self) -> bool:
        return bool(self.crates)

    def paths(self) -> list[Path]:
        """Absolute paths, in the order of their names."""
        found = {path for pattern in self.files for path in REPOSITORY.glob(pattern)}
        return sorted(
            path for path in found if path.relative_to(REPOSITORY).as_posix() not in self.without
        )


def _of_core(name: str, *files: str) -> Module:
    return Module(
        name,
        files,
        crates=("commitlog-core",),
        crate_tests=("--lib", "--test", "all"),
        own_tests=("tests/unit/commitlog/core",),
        room_tests=(
            "tests/unit/commitlog/schema",
            "tests/unit/commitlog/events",
            "tests/unit/agent/pipeline/test_pipeline_missing_end.py",
            "tests/unit/agent/pipeline/test_pipeline_no_silent_loss.py",
            "tests/unit/agent/pipeline/test_pipeline_recorded_segments.py",
        ),
        wide_tests=("tests/oracle/writer", "tests/oracle/reference"),
        server_tests=("tests/integration/cassandra/test_recordings.py",),
    )


MODULES = {
    module.name: module
    for module in (
        _of_core("chain", "commitlog/core/src/segment/chain/*.rs"),
        _of_core("mutation", "commitlog/core/src/mutation.rs", "commitlog/core/src/mutation/*.rs"),
        Module(
            "merge",
            (
                "spark_jobs/merge/src/*.rs",
                "spark_jobs/merge/src/changes/*.rs",
                "spark_jobs/merge/src/output/changes.rs",
            ),
            crates=("spark-merge",),
            own_tests=("tests/unit/spark_jobs/merge",),
            room_tests=("tests/unit/spark_jobs/arrow", "tests/unit/commitlog/events"),
            wide_tests=("tests/oracle/merge", "tests/oracle/algebra"),
            server_tests=("tests/oracle/merge/test_live.py",),
            without=frozenset(
                f"spark_jobs/merge/src/{name}.rs"
                for name in ("arena", "error", "evaluation", "lib", "window")
            ),
        ),
        Module(
            "delivery",
            ("sidecar/delivery/*.py",),
            ("tests/unit/sidecar/delivery",),
            without=frozenset({"sidecar/delivery/window.py"}),
        ),
        Module("window", ("sidecar/delivery/window.py",), ("tests/unit/sidecar/delivery",)),
        Module("offsets", ("sidecar/offsets/*.py",), ("tests/unit/sidecar/offsets",)),
        Module(
            "quarantine",
            ("agent/quarantine/*.py",),
            ("tests/unit/agent/quarantine",),
            without=frozenset({"agent/quarantine/requeue.py"}),
        ),
        Module(
            "requeue",
            ("agent/quarantine/requeue.py", "agent/pipeline/steps/intake.py"),
            (
                "tests/unit/agent/quarantine",
                "tests/unit/agent/pipeline/test_pipeline_requeue_faults.py",
            ),
        ),
        Module(
            "snapshotter",
            tuple(
                f"mongo_agent/snapshot/{name}.py"
                for name in ("snapshotter", "windows", "chunk_reads", "planner")
            ),
            ("tests/unit/mongo_agent/snapshot", "tests/integration/mongo_agent/snapshot"),
            server_tests=("tests/acceptance/mongo_agent/test_snapshot.py",),
        ),
        Module(
            "change_stream",
            ("mongo_agent/change_stream/*.py",),
            (
                "tests/unit/mongo_agent/change_stream",
                "tests/integration/mongo_agent/test_change_stream.py",
            ),
            server_tests=("tests/integration/mongo_agent/test_streaming.py",),
        ),
    )
}
