"""One real Apache Cassandra node as a context manager.

The node is a plain Java process over jars from Maven Central; its files lie in the folder that the
test gives. It ends with the test process whatever happens to that.
"""

import math
import os
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.policies import ConstantReconnectionPolicy, WhiteListRoundRobinPolicy

from tests.support.servers.cassandra_java import jars, java_of, module_options
from tests.support.servers.cassandra_settings import (
    VERSIONS,
    NodeAddress,
    NodeSettings,
    release,
    yaml_text,
)
from tests.support.servers.errors import ServerFailedError
from tests.support.servers.jmx import invoke_operation
from tests.support.servers.processes import (
    DEADLINE_S,
    Server,
    ServerProcess,
    accepts_connections,
    free_port,
    wait_until,
)
from tests.support.servers.schema_text import describe_schema

VERSION = os.environ.get("CDC_TEST_CASSANDRA", VERSIONS[0])
FILLER_KEYSPACE = "filler"
_READY_LINE = b"Starting listening for CQL clients"
_LOGBACK = """<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %date %logger{20} - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="OUT"/></root>
</configuration>
"""


@dataclass(frozen=True)
class CdcSegment:
    """A segment in `cdc_raw` with what its index file says (offset None: nothing yet)."""

    path: Path
    segment_id: int
    index_offset: int | None
    is_completed: bool


class CassandraNode(Server):
    """`with CassandraNode(tmp_path / "node") as node:` gives a running node that answers CQL.

    Ports are free ones unless given. Leaving the block kills the node; its files stay.
    """

    def __init__(
        self,
        directory: Path,
        *,
        version: str = VERSION,
        host: str = "127.0.0.1",
        settings: NodeSettings | None = None,
        address: NodeAddress | None = None,
    ) -> None:
        self.directory = directory.resolve()
        self.version = version
        self.settings = settings or NodeSettings()
        self.address = address or free_address(host)
        self._clusters: list[Any] = []
        self._session: Session | None = None
        self._process = ServerProcess(
            f"Cassandra {version} on {self.address.host}:{self.address.cql_port}",
            ["unset"],
            self.directory / "log" / "node.log",
        )

    @property
    def cdc_raw(self) -> Path:
        return self.directory / "cdc_raw"

    @property
    def commitlog(self) -> Path:
        return self.directory / "commitlog"

    @property
    def yaml(self) -> Path:
        """`cassandra.yaml`; written anew at every start."""
        return self.directory / "conf" / "cassandra.yaml"

    def start(self, settings: NodeSettings | None = None) -> None:
        """Start, with other settings if given, and wait until CQL clients are served."""
        if settings is not None:
            self.settings = settings
        for name in ("conf/triggers", "log"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        self.yaml.write_text(yaml_text(self.version, self.directory, self.address, self.settings))
        self.yaml.with_name("logback.xml").write_text(_LOGBACK)
        self._process.command = self._command()
        log_start_bytes = self.log_file.stat().st_size if self.log_file.exists() else 0
        self._process.start()

        def is_ready() -> bool:
            with self.log_file.open("rb") as log:
                log.seek(log_start_bytes)
                if _READY_LINE not in log.read():
                    return False
            return accepts_connections(self.address.host, self.address.cql_port)

        self._wait_until(is_ready, "CQL to be served")

    def stop(self) -> None:
        """SIGTERM: the node flushes, completes its segments and ends."""
        self._disconnect()
        self._process.terminate()

    def kill(self) -> None:
        """SIGKILL: what is not in a synced section of the log may be forgotten."""
        self._process.kill()
        self._disconnect()

    def session(self) -> Session:
        """The node's shared driver session, connected on first use after each start."""
        if self._session is None:
            self._session = self.connect()
        return self._session

    def connect(self) -> Session:
        """A driver session of its own that talks to this node alone; closed when the node stops."""
        host = self.address.host
        profile = ExecutionProfile(
            load_balancing_policy=WhiteListRoundRobinPolicy([host]), request_timeout=DEADLINE_S
        )
        cluster = Cluster(
            [host],
            port=self.address.cql_port,
            execution_profiles={EXEC_PROFILE_DEFAULT: profile},
            protocol_version=4 if release(self.version) < (4, 0) else 5,
            connect_timeout=DEADLINE_S,
            control_connection_timeout=DEADLINE_S,
            reconnection_policy=ConstantReconnectionPolicy(0.2, max_attempts=None),
        )
        self._clusters.append(cluster)
        return cluster.connect()

    def execute(self, statement: str, values: Sequence[object] | None = None) -> list[Any]:
        """Runs one statement on the shared session; returns the rows."""
        return list(self.session().execute(statement, values))

    def describe_schema(self) -> str:
        """`DESCRIBE KEYSPACE … WITH INTERNALS` of every user keyspace as one text."""
        return describe_schema(self.session(), server_side=release(self.version) >= (4, 0))

    def flush(self, keyspace: str, *tables: str) -> None:
        """Flush the memtables of a keyspace, or of the named tables, as `nodetool flush` does."""
        storage_service = "org.apache.cassandra.db:type=StorageService"
        invoke_operation(
            self.address.jmx_port, storage_service, "forceKeyspaceFlush", keyspace, list(tables)
        )

    def cdc_segments(self) -> list[CdcSegment]:
        """The segments in `cdc_raw` in order of their ids."""
        return cdc_segments(self.cdc_raw)

    def close_segment(self) -> None:
        """Write to a table without CDC until every segment in use at the call is closed and synced.

        On return each of them that holds CDC data has a completed index file (4.0 and later).
        """
        self.create_filler()
        insert = self.session().prepare(f"INSERT INTO {FILLER_KEYSPACE}.f (id, v) VALUES (?, ?)")
        segment_bytes = self.settings.commitlog_segment_mib << 20
        value = bytes(min(int(segment_bytes * 0.36), 4 << 20))
        self.session().execute(insert, (0, value))
        last_id = max(segment_id(path) for path in self.commitlog.glob("CommitLog-*.log"))

        def is_closed() -> bool:
            # Segments are synced in order: once a later one is, all before it are done.
            return any(
                segment_id(path) > last_id and _is_synced(path)
                for path in self.commitlog.glob("CommitLog-*.log")
            )

        for _ in range(math.ceil(4 * segment_bytes / len(value))):
            self.session().execute(insert, (0, value))
            if is_closed():
                return
        self._wait_until(is_closed, "the segment to be closed")

    def create_filler(self) -> None:
        """Make the table that `close_segment` writes to."""
        self.execute(
            f"CREATE KEYSPACE IF NOT EXISTS {FILLER_KEYSPACE} WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        )
        self.execute(f"CREATE TABLE IF NOT EXISTS {FILLER_KEYSPACE}.f (id int PRIMARY KEY, v blob)")

    def wait_for_index(self, segments: int = 1) -> list[CdcSegment]:
        """Wait until so many segments of `cdc_raw` have an index file; returns those."""

        def indexed() -> list[CdcSegment]:
            return [each for each in self.cdc_segments() if each.index_offset is not None]

        self._wait_until(lambda: len(indexed()) >= segments, "an index file")
        return indexed()

    def _wait_until(self, condition: Callable[[], bool], what: str) -> None:
        wait_until(condition, what, process=self._process)

    def _disconnect(self) -> None:
        self._session = None
        while self._clusters:
            self._clusters.pop().shutdown()

    def _command(self) -> list[str]:
        library = jars(self.version)
        agents = sorted(library.glob("jamm-*.jar"))
        if len(agents) != 1:
            raise ServerFailedError(f"Expected one jamm jar in {library}; delete the folder.")
        configuration = self.yaml.parent
        compiler = [] if self.settings.compile_fully else ["-XX:TieredStopAtLevel=1"]
        properties = {
            "jdk.attach.allowAttachSelf": "true",
            "java.net.preferIPv4Stack": "true",
            "io.netty.tryReflectionSetAccessible": "true",
            "cassandra.config": self.yaml.as_uri(),
            "cassandra.storagedir": str(self.directory),
            "cassandra.logdir": str(self.directory / "log"),
            "logback.configurationFile": (configuration / "logback.xml").as_uri(),
            "cassandra.triggers_dir": str(configuration / "triggers"),
            "cassandra-foreground": "yes",
            "cassandra.skip_wait_for_gossip_to_settle": "0",
            "cassandra.ring_delay_ms": "2000",
            "cassandra.superuser_setup_delay_ms": "0",
            "cassandra.consistent.rangemovement": "false",
            "cassandra.jmx.local.port": str(self.address.jmx_port),
        }
        return [
            str(java_of(self.version)),
            *("-Xms128m", f"-Xmx{self.settings.heap_mib}m", "-Xss512k", "-XX:+UseSerialGC"),
            *("-XX:ActiveProcessorCount=2", *compiler, f"-javaagent:{agents[0]}"),
            *module_options(),
            *(f"-D{name}={value}" for name, value in properties.items()),
            *self.settings.jvm_options,
            *("-cp", f"{configuration}:{library}/*"),
            "org.apache.cassandra.service.CassandraDaemon",
        ]


def free_address(host: str = "127.0.0.1") -> NodeAddress:
    """An address with ports that are free at the moment."""
    ports: set[int] = set()
    while len(ports) < 3:
        ports.add(free_port(host))
    cql_port, storage_port, ssl_storage_port = ports
    return NodeAddress(host, cql_port, storage_port, ssl_storage_port, free_port("127.0.0.1"))


def cdc_segments(folder: Path) -> list[CdcSegment]:
    """The segments in a folder in order of their ids."""
    found = []
    for path in folder.glob("CommitLog-*.log"):
        try:
            lines = path.with_name(f"{path.stem}_cdc.idx").read_text().split("\n")
        except FileNotFoundError:
            lines = [""]
        offset = int(lines[0]) if lines[0] else None
        completed = lines[1:2] == ["COMPLETED"]
        found.append(CdcSegment(path, segment_id(path), offset, completed))
    return sorted(found, key=lambda segment: segment.segment_id)


def segment_id(path: Path) -> int:
    """Returns 1699 for `CommitLog-7-1699.log`."""
    return int(path.stem.split("-")[2].removesuffix("_cdc"))


def _is_synced(path: Path) -> bool:
    """Whether the segment holds at least one synced section: its first marker is set."""
    try:
        with path.open("rb") as file:
            head = file.read(14)
            if len(head) < 14:
                return False
            (json_bytes,) = struct.unpack(">H", head[12:])
            file.seek(14 + json_bytes + 4)
            return any(file.read(8))
    except FileNotFoundError:
        return False
