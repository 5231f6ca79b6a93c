"""A Spark session with two cores in its own JVM, and the CPU time of work in it."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from benches.sampling import peak_memory_mib
from spark_jobs.session import create_session
from tests.support.servers.java import java_home
from tests.support.spark.session import fetched_jars

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cost:
    """Elapsed seconds, and CPU seconds of the JVM and its Python workers."""

    wall_s: float
    cpu_s: float


class SparkUnderTest:
    """`with SparkUnderTest.started() as spark:`; `spark.session` is the session."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        jvm = session.sparkContext._jvm
        assert jvm is not None
        beans = jvm.java.lang.management.ManagementFactory
        self.pid = int(beans.getRuntimeMXBean().getPid())

    @classmethod
    @contextmanager
    def started(
        cls, *, driver_memory: str = "2g", settings: Mapping[str, str] | None = None
    ) -> Iterator["SparkUnderTest"]:
        os.environ["JAVA_HOME"] = str(java_home(17))
        session = create_session(
            "benches",
            jars=fetched_jars(),
            master="local[2]",
            settings={"spark.driver.memory": driver_memory, **(settings or {})},
        )
        yield cls(session)
        session.stop()

    def cost_of(self, work: Callable[[], object]) -> Cost:
        """Measure the cost of a call."""
        cpu_s, wall_s = self._cpu_s(), time.monotonic()
        work()
        return Cost(time.monotonic() - wall_s, self._cpu_s() - cpu_s)

    def peak_rss_mib(self) -> int:
        """Peak resident memory of the JVM in MiB."""
        return int(peak_memory_mib(self.pid))

    def _cpu_s(self) -> float:
        """CPU seconds of the JVM and of all its children, running or ended."""
        ticks: dict[int, int] = {}
        parents: dict[int, int] = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            pid = int(stat.parent.name)
            parents[pid] = int(fields[1])
            ticks[pid] = sum(map(int, fields[11:15]))
        ours = {self.pid}
        while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
            ours |= more
        return sum(ticks[pid] for pid in ours) / _TICKS_PER_S
