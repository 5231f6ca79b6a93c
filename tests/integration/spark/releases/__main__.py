"""The core tests of the Spark jobs on other releases of Spark, and on every release the tests in a
session of Spark Connect, with catalogs of Iceberg, and of files: `make test-spark-releases`. On the
tested release also segments in S3 and GCS.

Each release is a folder of the cache before the packages of this environment, so everything else
is as in the other tests. Arguments are those of pytest.
"""

import os
import subprocess
import sys
from pathlib import Path

from spark_jobs.dependency_versions import TESTED
from tests.support.servers.cache import REPOSITORY, cached_directory
from tests.support.spark.session import RELEASES

CORE = (
    "tests/unit/spark_jobs/changes",
    "tests/unit/spark_jobs/compare",
    "tests/unit/spark_jobs/dedupe",
    "tests/unit/spark_jobs/follow",
    "tests/unit/spark_jobs/rebuild",
    "tests/unit/spark_jobs/reconcile",
    "tests/unit/spark_jobs/source",
    "tests/unit/spark_jobs/tables",
    "tests/unit/spark_jobs/watermarks",
    "tests/unit/spark_jobs/test_session.py",
    "tests/integration/spark/changes/test_kafka.py",
    "tests/integration/spark/decode",
    "tests/integration/spark/golden/test_recorded.py",
)
TARGETS = ("tests/integration/spark/tables/on_targets.py",)
STORES = "tests/integration/spark/rebuild/on_stores.py"
CONNECT = "tests/integration/spark/connect/on_connect.py"


def main(arguments: list[str]) -> int:
    failed = []
    for release, versions in RELEASES.items():
        # The complete suite runs in classic sessions of the tested release.
        is_tested = release == TESTED.spark
        runs = ((*TARGETS,), (STORES,)) if is_tested else ((*CORE, *TARGETS),)
        selection = () if versions.iceberg else ("-k", "not iceberg")
        for tests in (*runs, (CONNECT,)):
            print(f"Spark {release}: {', '.join(tests)}", flush=True)
            command = [sys.executable, "-m", "pytest", "-q", *tests, *selection, *arguments]
            environment = {**os.environ, "PYTHONPATH": str(_package(release))}
            if subprocess.run(command, cwd=REPOSITORY, env=environment, check=False).returncode:
                failed.append(f"{release} ({tests[0]} …)")
    if failed:
        print(f"Tests failed on Spark {', '.join(failed)}.", file=sys.stderr)
    return 1 if failed else 0


def _package(release: str) -> Path:
    """Folder with `pyspark` of a release. All supported releases need the same py4j."""

    def install(target: Path) -> None:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
        subprocess.run([*command, str(target), f"pyspark=={release}"], check=True)

    return cached_directory(f"pyspark-{release}", install)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
