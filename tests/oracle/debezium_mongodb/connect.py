"""Connect's converters: they read our messages, and would register their schemas."""

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.servers.errors import ServerFailedError
from tests.support.servers.java import java
from tests.support.servers.java_sources import compiled
from tests.support.servers.maven import Dependency, class_path

_SOURCE = Path(__file__).parent / "java" / "ConnectSchemas.java"
_JAVA = 17


@dataclass(frozen=True, slots=True)
class ReadMessage:
    """Message with its schema as `JsonConverter` reads it."""

    again: bytes
    """The message as the converter writes it again."""
    schema: str
    """Avro's JSON by the code of Confluent's converter, which Apicurio maintains."""
    avro: bytes
    """The value encoded by this schema."""


def read_by_connect(messages: Iterable[bytes]) -> list[ReadMessage]:
    jars = class_path(
        "connect-converters",
        [
            Dependency("org.apache.kafka", "connect-json", "3.9.1"),
            Dependency("io.apicurio", "apicurio-registry-utils-converter", "2.6.13.Final"),
            Dependency("org.slf4j", "slf4j-simple", "1.7.36"),
        ],
    )
    done = subprocess.run(
        [
            *(str(java(_JAVA)), "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"),
            *("-cp", f"{compiled([_SOURCE], jars, release=17)}:{jars}/*", "ConnectSchemas"),
        ],
        input="".join(f"{message.hex()}\n" for message in messages).encode(),
        check=False,
        capture_output=True,
    )
    if done.returncode != 0:
        raise ServerFailedError(done.stderr.decode())
    lines = done.stdout.decode().removesuffix("\n").split("\n")
    parts = (line.split("\t") for line in lines)
    return [
        ReadMessage(bytes.fromhex(again), schema, bytes.fromhex(avro))
        for again, schema, avro in parts
    ]


def with_namespaces(schema: Any, namespace: str = "") -> Any:
    """An Avro schema with the namespace at every record: Avro's own text leaves it out inside of an
    equal one."""
    if isinstance(schema, list):
        return [with_namespaces(each, namespace) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = schema.get("namespace", namespace)
    found = {name: with_namespaces(value, inner) for name, value in schema.items()}
    return {**found, "namespace": inner} if schema.get("type") == "record" else found
