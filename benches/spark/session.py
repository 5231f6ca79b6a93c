"""A Spark session with two cores in its own JVM, and the CPU time of work in it."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession

from benches.sampling import peak_memory_mib
from benches.spark.cpu_time import CpuTime
from spark_jobs.session import create_session
from tests.support.servers.java import java_home
from tests.support.spark.session import fetched_jars


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
        cpu = CpuTime(self.pid)
        with cpu.sampled():
            before_s, start_s = cpu.seconds(), time.monotonic()
            work()
            wall_s = time.monotonic() - start_s
        return Cost(wall_s, cpu.seconds() - before_s)

    def peak_rss_mib(self) -> int:
        """Peak resident memory of the JVM in MiB."""
        return int(peak_memory_mib(self.pid))
