"""Debezium's connector for Cassandra 5 as a peer: a process beside a node."""

import hashlib
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support.servers.cache import cached_directory
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_java import java_of, module_options
from tests.support.servers.errors import ToolFailedError
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.maven import artifact
from tests.support.servers.processes import Server, ServerProcess, free_port, wait_until

VERSION = "3.4.1.Final"
_JAR = f"io.debezium:debezium-connector-cassandra-5:{VERSION}:jar:jar-with-dependencies"
_MAIN_CLASS = "io.debezium.connector.cassandra.CassandraConnectorTask"
_READY_LINE = b"Starting JMX reporter"
_LOOPBACK_SOURCE = Path(__file__).with_name("loopback.c")
_JSON = "org.apache.kafka.connect.json.JsonConverter"
_LOGBACK = """<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %date %logger{20} - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="OUT"/></root>
</configuration>
"""


class DebeziumPeer(Server):
    """`with DebeziumPeer(node, broker, tmp_path / "peer") as peer:` gives a running connector.

    It takes the segments of the node's `cdc_raw` away as it reads them, follows unfinished ones by
    their index files, and sends JSON without schemas to `<topic_prefix>.<keyspace>.<table>`. The
    topics must exist: an event without one is lost. `properties` adds or replaces single ones.
    Leaving the block kills it; its files stay, and a second `start` goes on from its offsets.
    """

    def __init__(
        self,
        node: CassandraNode,
        broker: KafkaBroker,
        directory: Path,
        *,
        topic_prefix: str = "cass",
        heap_mib: int = 512,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self.node = node
        self.broker = broker
        self.directory = directory.resolve()
        self.topic_prefix = topic_prefix
        self.http_port = free_port()
        self._heap_mib = heap_mib
        self._properties = dict(properties or {})
        self._process = ServerProcess(
            f"Debezium {VERSION}", ["unset"], self.directory / "connector.log"
        )

    def start(self) -> None:
        """Start and wait until it says that it is up."""
        log_start_bytes = self.log_file.stat().st_size if self.log_file.exists() else 0
        self.launch()

        def is_ready() -> bool:
            with self.log_file.open("rb") as log:
                log.seek(log_start_bytes)
                return _READY_LINE in log.read()

        wait_until(is_ready, "the connector to be up", process=self._process)

    def launch(self) -> None:
        """Start without waiting."""
        for name in ("offsets", "relocation/archive", "relocation/error", "storage"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        (self.directory / "connector.properties").write_text(self._properties_text())
        (self.directory / "application.conf").write_text(self._driver_text())
        (self.directory / "logback.xml").write_text(_LOGBACK)
        self._process.command = self._command()
        self._process.directory = self.directory
        library = _loopback_library()
        self._process.environment = {"LD_PRELOAD": str(library)} if library else None
        self._process.start()

    def complaints(self) -> list[str]:
        """The lines of its log with a warning or an error."""
        lines = self.log_file.read_text(errors="replace").splitlines()
        return [line for line in lines if line.startswith(("WARN", "ERROR"))]

    def _properties_text(self) -> str:
        relocation = self.directory / "relocation"
        properties = {
            "connector.name": self.topic_prefix,
            "topic.prefix": self.topic_prefix,
            "cassandra.node.id": "node1",
            "cassandra.cluster.name": self.node.settings.cluster_name,
            "cassandra.config": str(self.node.yaml),
            "cassandra.driver.config.file": str(self.directory / "application.conf"),
            "kafka.producer.bootstrap.servers": self.broker.bootstrap,
            "kafka.producer.acks": "all",
            "kafka.producer.enable.idempotence": "true",
            "kafka.producer.retries": "2147483647",
            "kafka.producer.linger.ms": "5",
            "key.converter": _JSON,
            "key.converter.schemas.enable": "false",
            "value.converter": _JSON,
            "value.converter.schemas.enable": "false",
            "offset.backing.store.dir": str(self.directory / "offsets"),
            "offset.flush.interval.ms": "1000",
            "max.offset.flush.size": "100",
            "snapshot.mode": "never",
            "commit.log.relocation.dir": str(relocation),
            "commit.log.real.time.processing.enabled": "true",
            "commit.log.marked.complete.poll.interval.ms": "500",
            "commit.log.error.reprocessing.enabled": "false",
            "commit.log.post.processing.enabled": "true",
            "commit.log.relocation.dir.poll.interval.ms": "10000",
            "cdc.dir.poll.interval.ms": "1000",
            "schema.refresh.interval.ms": "1000",
            "max.queue.size": "8192",
            "max.batch.size": "2048",
            "poll.interval.ms": "100",
            "http.port": str(self.http_port),
        } | self._properties
        return "".join(f"{name}={value}\n" for name, value in properties.items())

    def _driver_text(self) -> str:
        address = self.node.address
        return f"""datastax-java-driver {{
  basic {{
    contact-points = [ "{address.host}:{address.cql_port}" ]
    session-name = "peer"
    load-balancing-policy.local-datacenter = "datacenter1"
    request.timeout = 10 minutes
  }}
  advanced.connection.connect-timeout = 10 minutes
  advanced.control-connection.timeout = 10 minutes
  advanced.metadata.schema.debouncer.window = 100 milliseconds
}}
"""

    def _command(self) -> list[str]:
        properties = {
            "java.net.preferIPv4Stack": "true",
            "jdk.attach.allowAttachSelf": "true",
            "logback.configurationFile": str(self.directory / "logback.xml"),
            "cassandra.storagedir": str(self.directory / "storage"),
        }
        return [
            str(java_of(self.node.version)),
            *("-Xms128m", f"-Xmx{self._heap_mib}m"),
            *module_options(),
            *(f"-D{name}={value}" for name, value in properties.items()),
            *("-cp", str(artifact(_JAR)), _MAIN_CLASS),
            str(self.directory / "connector.properties"),
        ]


def _loopback_library() -> Path | None:
    """A library that keeps its HTTP port, which knows no address, off other interfaces.

    None without a C compiler.
    """
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None

    def compile_into(target: Path) -> None:
        command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(target / "loopback.so")]
        command += [str(_LOOPBACK_SOURCE), "-ldl"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ToolFailedError(f"{_LOOPBACK_SOURCE.name} does not compile:\n{done.stderr}")

    digest = hashlib.sha256(_LOOPBACK_SOURCE.read_bytes()).hexdigest()[:12]
    return cached_directory(f"loopback-{digest}", compile_into) / "loopback.so"
