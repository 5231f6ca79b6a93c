"""Debezium's own transformation `ExtractNewRecordState`, in a process."""

import base64
import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from tests.support.servers.debezium import VERSION
from tests.support.servers.java import java
from tests.support.servers.java_sources import compiled
from tests.support.servers.maven import Dependency, class_path

_SOURCE = Path(__file__).resolve().parents[1] / "java" / "ExtractedChanges.java"
_KAFKA = "4.1.1"
_DEPENDENCIES = (
    Dependency("io.debezium", "debezium-core", VERSION),
    Dependency("org.apache.kafka", "connect-json", _KAFKA),
    Dependency("org.apache.kafka", "connect-transforms", _KAFKA),
    Dependency("org.slf4j", "slf4j-nop", "1.7.36"),
)

Deletes = Literal["drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone"]


def extracted(
    messages: Iterable[tuple[bytes, bytes | None]], deletes: Deletes, fields: str
) -> list[Any]:
    """The values after the transformation; None for a tombstone, `dropped` for a dropped message.

    `messages` are keys and values with schemas. `fields` is the option `add.fields`.
    """
    jars = class_path(f"debezium-core-{VERSION}", _DEPENDENCIES)
    classes = compiled([_SOURCE], jars, release=17)
    lines = (
        f"{base64.b64encode(key).decode()}\t{base64.b64encode(value or b'').decode()}\n"
        for key, value in messages
    )
    done = subprocess.run(
        [str(java(17)), "-cp", f"{classes}:{jars}/*", "ExtractedChanges", deletes, fields],
        input="".join(lines),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answers = [line for line in done.stdout.splitlines() if line == "dropped" or line[0] in "{n"]
    return [line if line == "dropped" else json.loads(line) for line in answers]
