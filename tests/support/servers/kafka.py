"""One real Apache Kafka broker (broker and controller in one process) as a context manager."""

import os
import shutil
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.support.servers.cache import cached_directory
from tests.support.servers.errors import ServerFailedError
from tests.support.servers.java import java
from tests.support.servers.kafka_transactions import abort_open_transactions, dropped_markers
from tests.support.servers.maven import Dependency, class_path
from tests.support.servers.processes import DEADLINE_S, Server, ServerProcess, free_port, wait_until

# Another release is given by the environment, as `make test-kafka` does.
VERSION = os.environ.get("CDC_TEST_KAFKA", "4.4.0")
_DEFAULT_HEAP_MIB = 512
_ARCHIVE = "classes.jsa"
_NO_LEADER = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)
_LOG4J2 = """Configuration:
  status: warn
  Appenders:
    Console:
      name: STDOUT
      PatternLayout: {pattern: "[%d] %p %m (%c)%n"}
  Loggers:
    Root:
      level: INFO
      AppenderRef: [{ref: STDOUT}]
"""


@dataclass(frozen=True)
class KafkaRecord:
    """One record as it lies in its topic. `headers` is in order and may repeat names."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    timestamp_ms: int


class KafkaBroker(Server):
    """`with KafkaBroker(tmp_path / "kafka") as broker:` gives a running broker on a free port.

    Topics are not created by themselves unless `auto_create_topics`. Clients that come to
    `proxied_port` are told to use `proxy_port`, where a proxy may listen. `stop`, `kill` and
    `restart` keep the data. Leaving the block kills the broker.
    """

    def __init__(
        self,
        directory: Path,
        *,
        heap_mib: int = _DEFAULT_HEAP_MIB,
        auto_create_topics: bool = False,
        properties: Mapping[str, str] | None = None,
        cluster_id: str | None = None,
    ) -> None:
        self.directory = directory.resolve()
        self.port = free_port()
        self.controller_port = free_port()
        self.proxied_port = free_port()
        self.proxy_port = free_port()
        self._auto_create_topics = auto_create_topics
        self.properties = dict(properties or {})
        self.cluster_id = cluster_id or _random_id()
        self._heap_mib = heap_mib
        self._process = ServerProcess(
            f"Kafka {VERSION} on {self.bootstrap}", ["unset"], self.directory / "broker.log"
        )
        self._classes = ""
        self._admin: AdminClient | None = None
        self._log_end = 0

    @property
    def bootstrap(self) -> str:
        """`host:port` for clients."""
        return f"127.0.0.1:{self.port}"

    def join(self, first: "KafkaBroker", node_id: int) -> None:
        """Makes it a second broker without a controller; before `start`."""
        self.properties |= {
            "process.roles": "broker",
            "node.id": str(node_id),
            "controller.quorum.voters": f"1@127.0.0.1:{first.controller_port}",
            "listeners": f"PLAINTEXT://{self.bootstrap}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap}",
        }

    def start(self) -> None:
        """Start over the data of the last run, if any, and wait until the broker answers."""
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / "server.properties").write_text(self._server_properties())
        (self.directory / "log4j2.yaml").write_text(_LOG4J2)
        if not (self.directory / "data" / "meta.properties").exists():
            self._format()
        self._process.command = self._java("kafka.Kafka", "server.properties")
        self._process.directory = self.directory
        self._process.start()
        wait_until(self._answers, "an answer", process=self._process)
        self._end_hanging_transactions()

    def admin(self) -> AdminClient:
        """An admin client of this broker."""
        if self._admin is None:
            settings: dict[str, Any] = {"bootstrap.servers": self.bootstrap, "log_level": 0}
            # The default of a minute ends operations on a busy machine; this is the most.
            self._admin = AdminClient({**settings, "socket.timeout.ms": 300_000})
        return self._admin

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        config: Mapping[str, str] | None = None,
        replicas: int = 1,
    ) -> None:
        """Create a topic and wait until the broker knows it; one that exists is left alone."""
        topic = NewTopic(
            name, num_partitions=partitions, replication_factor=replicas, config=dict(config or {})
        )
        try:
            self.admin().create_topics([topic], operation_timeout=DEADLINE_S)[name].result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
        wait_until(lambda: name in self.topics(), f"topic {name}", process=self._process)

    def topics(self) -> dict[str, int]:
        """Partition count by topic, without Kafka's own topics."""
        found = self.admin().list_topics(timeout=DEADLINE_S).topics
        return {
            name: len(topic.partitions)
            for name, topic in found.items()
            if not name.startswith("__") and topic.error is None
        }

    def end_offsets(self, *topics: str) -> dict[tuple[str, int], int]:
        """The next offset of each partition of the topics, also right after a restart."""
        counts = self.topics()
        group = f"harness-{uuid.uuid4()}"
        # A client that knew the killed broker asks with a leader's epoch that this one has not.
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": group})
        found: dict[tuple[str, int], int] = {}

        def ask(topic: str, partition: int) -> bool:
            asked = TopicPartition(topic, partition)
            try:
                _, found[topic, partition] = consumer.get_watermark_offsets(
                    asked, timeout=DEADLINE_S
                )
            except KafkaException as error:
                # The restarted broker has not made itself the leader yet.
                if error.args[0].code() not in _NO_LEADER:
                    raise
            return (topic, partition) in found

        try:
            for topic in topics:
                for partition in range(counts[topic]):
                    wait_until(partial(ask, topic, partition), f"the leader of {topic}")
            return found
        finally:
            consumer.close()

    def consume_all(self, *topics: str, committed_only: bool = True) -> list[KafkaRecord]:
        """Every record that the topics (default: all) hold now, partition by partition."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": f"harness-{uuid.uuid4()}",
                "enable.auto.commit": False,
                "isolation.level": "read_committed" if committed_only else "read_uncommitted",
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 10,
                "fetch.queue.backoff.ms": 10,
                "log_level": 0,
            }
        )
        counts = self.topics()
        try:
            return _read(
                consumer,
                [
                    TopicPartition(topic, partition, 0)
                    for topic in topics or sorted(counts)
                    for partition in range(counts[topic])
                ],
            )
        finally:
            consumer.close()

    def _end_hanging_transactions(self) -> None:
        """As an operator ends those that Kafka forgot in a start after SIGKILL."""
        log = self.log_file.read_text(errors="replace")[self._log_end :]
        self._log_end += len(log)
        places = dropped_markers(log)
        if places:
            print(f"Kafka dropped ends of transactions: {places}")
            abort_open_transactions(self.port, places)

    def _answers(self) -> bool:
        try:
            return bool(self.admin().list_topics(timeout=10).brokers)
        except KafkaException:
            return False

    def _format(self) -> None:
        """What `kafka-storage.sh format` writes, which takes as long as a start."""
        lines = {
            "version": "1",
            "cluster.id": self.cluster_id,
            "node.id": self.properties.get("node.id", "1"),
            "directory.id": _random_id(),
        }
        meta = self.directory / "data" / "meta.properties"
        meta.parent.mkdir(exist_ok=True)
        meta.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))

    def _java(self, main_class: str, *arguments: str) -> list[str]:
        # A broker with a small heap is one of a short test, which the second compiler would delay.
        compiler = ("-XX:TieredStopAtLevel=1",) if self._heap_mib < _DEFAULT_HEAP_MIB else ()
        return [
            str(java(17)),
            *("-Xms128m", f"-Xmx{self._heap_mib}m", "-XX:+UseSerialGC", "-Djava.awt.headless=true"),
            *(*compiler, self._classes or f"-XX:SharedArchiveFile={_class_archive()}"),
            f"-Dlog4j2.configurationFile={self.directory / 'log4j2.yaml'}",
            *("-cp", f"{_jars()}/*", main_class, *arguments),
        ]

    def _server_properties(self) -> str:
        properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{self.controller_port}",
            "listeners": f"PLAINTEXT://{self.bootstrap},PROXIED://127.0.0.1:{self.proxied_port}"
            f",CONTROLLER://127.0.0.1:{self.controller_port}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap}"
            f",PROXIED://127.0.0.1:{self.proxy_port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT"
            ",CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": "data",
            "auto.create.topics.enable": str(self._auto_create_topics).lower(),
            "num.partitions": "1",
            "default.replication.factor": "1",
            "min.insync.replicas": "1",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "4",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "4",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "log.segment.bytes": str(64 << 20),
            "log.cleaner.dedupe.buffer.size": str(16 << 20),
            "num.network.threads": "2",
            "num.io.threads": "4",
            "background.threads": "2",
        } | self.properties
        return "".join(f"{name}={value}\n" for name, value in properties.items())


@cache
def _class_archive() -> Path:
    """The loaded classes of a broker (AppCDS), with which a start takes half of its processor time.

    A runtime that cannot write or read the archive does without.
    """

    def archive(target: Path) -> None:
        broker = KafkaBroker(target / "broker", heap_mib=_DEFAULT_HEAP_MIB - 1)
        broker._classes = f"-XX:ArchiveClassesAtExit={target / _ARCHIVE}"
        with broker:
            broker.stop()
        shutil.rmtree(broker.directory)

    runtime = java(17).stat()
    name = f"kafka-{VERSION}-classes-{runtime.st_size}-{runtime.st_mtime_ns}"
    return cached_directory(name, archive) / _ARCHIVE


def _random_id() -> str:
    """As Kafka writes ids of clusters and folders."""
    return urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()


def _jars() -> Path:
    # kafka-tools-api is named by the broker's pom but not published; the broker does not need it.
    return class_path(
        f"kafka-{VERSION}",
        [
            Dependency(
                "org.apache.kafka", "kafka_2.13", VERSION, ("org.apache.kafka:kafka-tools-api",)
            ),
            Dependency("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.5"),
        ],
    )


def _read(consumer: Any, places: list[TopicPartition]) -> list[KafkaRecord]:
    """All records of these partitions, partition by partition."""
    if not places:
        return []
    consumer.assign(places)
    open_places = {(place.topic, place.partition) for place in places}
    records: list[KafkaRecord] = []
    silent_since_s = time.monotonic()
    while open_places:
        messages = consumer.consume(num_messages=10_000, timeout=0.1)
        if messages:
            silent_since_s = time.monotonic()
        elif time.monotonic() > silent_since_s + DEADLINE_S:
            raise ServerFailedError(f"Neither records nor the end of {sorted(open_places)} came.")
        for message in messages:
            place = (message.topic(), message.partition())
            error = message.error()
            if error is not None and error.code() == KafkaError._PARTITION_EOF:
                open_places.discard(place)
            elif error is not None:
                raise KafkaException(error)
            elif place in open_places:
                records.append(
                    KafkaRecord(
                        *place,
                        message.offset(),
                        message.key(),
                        message.value(),
                        tuple(message.headers() or ()),
                        message.timestamp()[1],
                    )
                )
    consumer.unassign()
    order = {(place.topic, place.partition): number for number, place in enumerate(places)}
    return sorted(records, key=lambda each: (order[each.topic, each.partition], each.offset))
