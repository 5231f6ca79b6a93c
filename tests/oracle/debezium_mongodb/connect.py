"""Connect's own converters: what reads our messages, and what would register their schemas."""

import subprocess
from collections.abc import Iterable
from pathlib import Path

from tests.support.servers.java import java
from tests.support.servers.java_sources import compiled
from tests.support.servers.maven import Dependency, class_path

_SOURCE = Path(__file__).parent / "java" / "ConnectSchemas.java"
_JAVA = 17


def read_by_connect(messages: Iterable[bytes]) -> list[tuple[bytes, str]]:
    """Each message with its schema as `JsonConverter` reads it and writes it again, and the schema
    in Avro's JSON as Confluent's converter makes it: its code lives on in Apicurio's."""
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
        check=True,
        capture_output=True,
    )
    lines = done.stdout.decode().removesuffix("\n").split("\n")
    pairs = (line.split("\t") for line in lines)
    return [(bytes.fromhex(again), schema) for again, schema in pairs]
