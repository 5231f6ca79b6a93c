"""Spark benchmark sessions: CPU time, topics, stored events, and a plain copy as upper bound."""

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Event, Thread

from confluent_kafka import Producer
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from benches.sampling import peak_memory_mib
from benches.segments import Message, WrittenSegments, messages
from spark_jobs.options.kafka import SourceOptions
from spark_jobs.session import create_session
from spark_jobs.source.kafka import read_stream
from tests.support.servers.java import java_home
from tests.support.servers.kafka import KafkaBroker
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


_INTERVAL_S = 0.2
"""For a worker that exits, only the CPU time since the previous sample is lost."""
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PARENT, _STARTED, _USER, _SYSTEM = 1, 19, 11, 12
"""Indexes of the fields that follow the name in /proc/PID/stat (proc(5))."""


class CpuTime:
    """The CPU time that a process tree uses while `sampled`."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._ticks: dict[tuple[int, str], int] = {}
        """By process id and start time, because process ids are reused."""

    @contextmanager
    def sampled(self) -> Iterator[None]:
        stop = Event()

        def repeat() -> None:
            while not stop.wait(_INTERVAL_S):
                self._sample()

        sampling = Thread(target=repeat)
        self._sample()
        sampling.start()
        try:
            yield
        finally:
            stop.set()
            sampling.join()
            self._sample()

    def seconds(self) -> float:
        """Total CPU seconds of all sampled processes."""
        return sum(self._ticks.values()) / _TICKS_PER_S

    def _sample(self) -> None:
        stats: dict[int, list[str]] = {}
        for file in Path("/proc").glob("[0-9]*/stat"):
            try:
                stats[int(file.parent.name)] = file.read_text().rpartition(")")[2].split()
            except OSError:
                continue
        tree = {self._pid}
        while more := {pid for pid, stat in stats.items() if int(stat[_PARENT]) in tree} - tree:
            tree |= more
        for pid in tree & stats.keys():
            stat = stats[pid]
            self._ticks[pid, stat[_STARTED]] = int(stat[_USER]) + int(stat[_SYSTEM])


NODES = ("node1", "node2", "node3")
PARTITIONS = 4
_POLL_EVERY = 1000
_FLUSH_S = 600


def events_of_replicas(segments: WrittenSegments, count: int) -> list[Message]:
    """Return the first `count` events of the segments from each of three nodes, shuffled."""
    found: list[Message] = []
    for node in NODES:
        found += islice(messages(segments.schema, segments.segments, "bench", node), count)
    random.Random(3).shuffle(found)
    return found


def fill_topic(broker: KafkaBroker, topic: str, to_publish: Sequence[Message]) -> None:
    """Publish messages to a new topic."""
    broker.create_topic(topic, PARTITIONS)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 50, "log_level": 3})
    for number, (_, key, value, headers, partition_hash) in enumerate(to_publish):
        while True:
            try:
                partition = partition_hash % PARTITIONS
                producer.produce(topic, value, key, partition, headers=headers)
                break
            except BufferError:
                producer.poll(0.1)
        if number % _POLL_EVERY == 0:
            producer.poll(0)
    if producer.flush(_FLUSH_S):
        raise RuntimeError(f"{topic} could not be filled within {_FLUSH_S} s")


def repeated(events: DataFrame, times: int) -> DataFrame:
    """Repeat the events `times` times with different partition keys; the first keeps its own."""
    numbers = events.sparkSession.range(times).toDF("number")
    return with_other_keys(events.crossJoin(numbers), F.col("number")).drop("number")


def with_other_keys(events: DataFrame, number: Column) -> DataFrame:
    """Derive new partition keys and tokens from `number`; 0 keeps the original ones."""
    is_first = number == 0
    token = F.when(is_first, F.col("token")).otherwise(F.xxhash64("token", number))
    pk = F.base64(F.unhex(F.lpad(F.hex(token), 16, "0")))
    named = F.regexp_replace("event", '"pk":"[^"]*"', F.concat(F.lit('"pk":"'), pk, F.lit('"')))
    return events.withColumns(
        {"token": token, "event": F.when(is_first, F.col("event")).otherwise(named)}
    )


def written_at(events: DataFrame, ts_us: Column, expires_s: Column | None = None) -> DataFrame:
    """Replace the write time and the value of the column `amount`.

    The values expire at `expires_s` where it is not null.
    """
    time = F.concat(F.lit('"ts":'), ts_us.cast("string"))
    if expires_s is not None:
        ttl = F.concat(F.lit(',"ttl":86400,"ldt":'), expires_s.cast("string"))
        time = F.concat(time, F.coalesce(ttl, F.lit("")))
    text = F.regexp_replace("event", F.lit('"ts":[0-9]+'), time)
    # The first base64 characters encode the most significant bits of the integer.
    value = F.concat(
        F.lit('"val":"'), F.substring(F.lit("BCDEFGHI"), (ts_us % 8 + 1).cast("int"), F.lit(1))
    )
    return events.withColumn("event", F.regexp_replace(text, F.lit('"val":"[A-I]'), value))


def deleted_at(ts_us: Column) -> Column:
    """Turn the text of a row event into a deletion of the row."""
    written, second = ts_us.cast("string"), F.floor(ts_us / 1_000_000).cast("string")
    deletion = F.concat(F.lit('"del":{"ts":'), written, F.lit(',"ldt":'), second, F.lit("}}}"))
    return F.regexp_replace("event", F.lit('"live":.*$'), deletion)


COPIED = ("key", "value", "topic", "partition", "offset")


def plain_copy(session: SparkSession, options: SourceOptions, folder: str) -> None:
    """Copy all records to a new table in a folder."""
    records = read_stream(session, options)
    query = (
        records.select(*COPIED)
        .writeStream.format("delta")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start(f"{folder}/table")
    )
    query.awaitTermination()
