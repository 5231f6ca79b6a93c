"""Avro's own Java library in a process, for what consumers and registries written in Java do."""

import base64
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tests.support.servers.errors import ServerFailedError
from tests.support.servers.java import java
from tests.support.servers.java_sources import compiled
from tests.support.servers.maven import Dependency, class_path

VERSION = "1.12.1"
_JAVA = 17
_SOURCE = Path(__file__).parent / "java" / "AvroReader.java"


class RefusedByJavaError(Exception):
    """The library does not take a schema, or cannot read a message with it."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Whether what was written with one schema is read with another."""

    is_compatible: bool
    """By `SchemaCompatibility`, which registries ask for BACKWARD."""
    is_readable: bool
    """By `SchemaValidator` with the strategy `canRead`, which registries asked before."""
    why: tuple[str, ...]
    """The reason why it cannot run."""


class JavaAvro:
    """`with JavaAvro() as avro:` keeps one process for all questions."""

    def __enter__(self) -> Self:
        jars = class_path(
            f"avro-{VERSION}",
            [
                Dependency("org.apache.avro", "avro", VERSION),
                Dependency("org.slf4j", "slf4j-nop", "2.0.17"),
            ],
        )
        options = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
        path = f"{compiled([_SOURCE], jars)}:{jars}/*"
        self._process = subprocess.Popen(
            [str(java(_JAVA)), *options, "-cp", path, "cdcsidecar.avro.AvroReader"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.kill()
        self._process.communicate()

    def parse(self, number: int, schema: str) -> None:
        """Makes a schema known under a number, names and defaults held to the specification."""
        self._ask({"do": "parse", "id": number, "schema": schema})

    def read(self, writer: int, record: bytes, *, reader: int | None = None) -> dict[str, Any]:
        """A record that was written with one schema, as read with the same or another."""
        answer = self._ask(
            {
                "do": "read",
                "writer": writer,
                "reader": writer if reader is None else reader,
                "message": base64.b64encode(record).decode(),
            }
        )
        found = answer["record"]
        assert isinstance(found, dict)
        return found

    def compare(self, reader: int, writer: int) -> Comparison:
        answer = self._ask({"do": "compare", "reader": reader, "writer": writer})
        return Comparison(answer["compatible"], answer["readable"], tuple(answer["why"]))

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(question) + "\n")
        stdin.flush()
        line = stdout.readline()
        if not line:
            raise ServerFailedError("Avro's reader ended; standard error says why.")
        answer: dict[str, Any] = json.loads(line, object_hook=_value)
        if "error" in answer and len(answer) == 1:
            raise RefusedByJavaError(answer["error"])
        return answer


def _value(found: dict[str, Any]) -> Any:
    """Bytes and floats, which JSON has no form for."""
    match found:
        case {"$bytes": str(text), **rest} if not rest:
            return base64.b64decode(text)
        case {"$float": str(text), **rest} if not rest:
            return float(text)
        case _:
            return found
