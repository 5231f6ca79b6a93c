"""Engines of Debezium's MongoDB connector in one Java process, and their records."""

import subprocess
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tests.support.servers.errors import ServerFailedError
from tests.support.servers.java import java
from tests.support.servers.java_sources import compiled
from tests.support.servers.maven import Dependency, class_path

# The newest release in Maven Central.
VERSION = "3.6.1.Final"
# Which characters are escaped depends on the release of Unicode, and so on that of Java.
_JAVA = 21
_SOURCES = Path(__file__).parent / "java"
# For short runs; a long run is faster with Java's default.
QUICK_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_DEADLINE_S = 300
_CONNECT_MS = 240_000
"""Its defaults, 10 and 30 s, end an engine while a test machine is busy."""
_MOST_RESTARTS = 3


@dataclass(frozen=True, slots=True)
class PeerRecord:
    """One record as a Kafka Connect worker with `JsonConverter` would produce it."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    outcome: str = "record"
    """`dropped`, or the reason why a transformation rejects the record."""


def jars(version: str = VERSION) -> Path:
    """The connector, the engine and all their dependencies."""
    return class_path(
        f"debezium-mongodb-{version}",
        [
            Dependency("io.debezium", "debezium-embedded", version),
            Dependency("io.debezium", "debezium-connector-mongodb", version),
            Dependency("org.slf4j", "slf4j-simple", "1.7.36"),
        ],
    )


class EmbeddedEngines:
    """`with EmbeddedEngines(tmp_path) as peer: peer.start("a", {…})`.

    Every engine has its name as topic prefix. Leaving the block kills the process.
    """

    def __init__(
        self,
        directory: Path,
        *,
        version: str = VERSION,
        heap_mib: int = 512,
        java_options: Sequence[str] = QUICK_START,
        program: str = "EmbeddedEngines",
    ) -> None:
        self._program = program
        self._version = version
        self._directory = directory
        self._java_options = (f"-Xmx{heap_mib}m", *java_options)
        self._records: dict[str, list[PeerRecord]] = defaultdict(list)
        self._stopped: dict[str, str] = {}
        self._restarts: Counter[str] = Counter()
        self._has_ended = False
        self._changed = threading.Condition()
        self._process: subprocess.Popen[str] | None = None
        self._reader = threading.Thread(target=self._read, name="records of Debezium")

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log_file(self) -> Path:
        return self._directory / "debezium.log"

    def __enter__(self) -> Self:
        folder = jars(self._version)
        classes = compiled([_SOURCES / f"{self._program}.java"], folder, release=17)
        self._directory.mkdir(parents=True, exist_ok=True)
        command = [
            str(java(_JAVA)),
            *self._java_options,
            *("-cp", f"{classes}:{folder}/*", self._program),
        ]
        with self.log_file.open("w") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        self._reader.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._process is None:
            return
        with self._process as process:
            process.kill()
            self._reader.join()

    def start(self, name: str, connection_string: str, properties: Mapping[str, str]) -> None:
        """Start an engine with the settings of a test: it polls often and does not retry. Values
        are as in a properties file: a backslash escapes the next character. An empty value removes
        a property."""
        values = {
            "name": name,
            "topic.prefix": name,
            "connector.class": "io.debezium.connector.mongodb.MongoDbConnector",
            "mongodb.connection.string": connection_string,
            "offset.storage": "org.apache.kafka.connect.storage.MemoryOffsetBackingStore",
            "converter.schemas.enable": "false",
            "poll.interval.ms": "10",
            "errors.max.retries": "0",
            "mongodb.connect.timeout.ms": str(_CONNECT_MS),
            "mongodb.server.selection.timeout.ms": str(_CONNECT_MS),
            **properties,
        }
        text = "".join(f"{key}={value}\n" for key, value in values.items() if value)
        self._file(name).write_text(text)
        self._send(name)

    def _file(self, name: str) -> Path:
        return self._directory / f"{name}.properties"

    def _send(self, name: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(f"{self._file(name)}\n")
        self._process.stdin.flush()

    def _restart(self, name: str) -> bool:
        """Start a stopped engine again if it reads from a fixed time, so that its records are the
        same. It does not retry, and a server that answers late ends it."""
        if name not in self._stopped or self._restarts[name] == _MOST_RESTARTS:
            return False
        if "capture.start.op.time" not in self._file(name).read_text():
            return False
        self._restarts[name] += 1
        del self._stopped[name]
        self._records[name].clear()
        self._send(name)
        return True

    def records(self, name: str, is_all: Callable[[list[PeerRecord]], bool]) -> list[PeerRecord]:
        """The records of an engine so far, once `is_all` of them is true.

        Raises `ServerFailedError` with the end of the log when that never becomes so.
        """

        def is_over() -> bool:
            return self._has_ended or name in self._stopped or is_all(self._records[name])

        with self._changed:
            while True:
                in_time = self._changed.wait_for(is_over, _DEADLINE_S)
                found = list(self._records[name])
                if in_time and is_all(found):
                    return found
                if not self._restart(name):
                    break
        cause = self._stopped.get(name, "it gave no more records")
        log = self.log_file.read_text(errors="replace")[-6000:]
        raise ServerFailedError(f"Debezium {self._version}, {name}: {cause}\n{log}")

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            kind, name, *parts = line.rstrip("\n").split("\t")
            with self._changed:
                if kind == "stopped":
                    self._stopped[name] = parts[0]
                elif kind == "record":
                    topic, key, value, *headers = parts
                    named = tuple(_header(header) for header in headers)
                    record = PeerRecord(topic, _bytes(key), _bytes(value), named)
                    self._records[name].append(record)
                else:
                    outcome = ": ".join([kind, *parts])
                    self._records[name].append(PeerRecord("", None, None, outcome=outcome))
                self._changed.notify_all()
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()


def _header(text: str) -> tuple[str, bytes | None]:
    name, _, value = text.rpartition("=")
    return name, _bytes(value)


def _bytes(text: str) -> bytes | None:
    return None if text == "-" else bytes.fromhex(text)
