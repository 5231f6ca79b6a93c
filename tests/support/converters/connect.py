"""Connect's real `JsonConverter` and `StringConverter`, in a process that reads messages anew."""

import base64
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Literal

from tests.support.servers.java import java
from tests.support.servers.java_sources import compiled
from tests.support.servers.maven import Dependency, class_path

_VERSION = "4.3.0"
_SOURCE = Path(__file__).parent / "java" / "Converters.java"
# The first release that writes floats with the fewest digits is 19.
_JAVA = 21

Form = Literal["json", "string"]
Decimals = Literal["BASE64", "NUMERIC"]


class RefusedMessageError(Exception):
    """Connect does not take a message."""


class Connect:
    """`with Connect() as connect:` runs the converters until the block is left."""

    def __init__(self) -> None:
        jars = _jars()
        classes = compiled([_SOURCE], jars, release=17)
        self._process = subprocess.Popen(
            [str(java(_JAVA)), "-cp", f"{classes}:{jars}/*", "Converters"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> "Connect":
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.kill()
        self._process.communicate()

    def rewritten(
        self, messages: Iterable[bytes], form: Form, decimals: Decimals = "BASE64"
    ) -> Iterator[bytes]:
        """What the converter `form` writes of each message with a schema. Raises
        RefusedMessageError."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        for message in messages:
            line = f"{decimals}\t{form}\t{base64.b64encode(message).decode()}\n"
            self._process.stdin.write(line)
            self._process.stdin.flush()
            word, _, answer = self._process.stdout.readline().rstrip("\n").partition("\t")
            if word != "ok":
                raise RefusedMessageError(f"{answer or 'the process ended'}: {message!r}")
            yield base64.b64decode(answer)


@cache
def _jars() -> Path:
    return class_path(
        f"connect-json-{_VERSION}",
        [
            Dependency("org.apache.kafka", "connect-json", _VERSION),
            Dependency("org.slf4j", "slf4j-nop", "1.7.36"),
        ],
    )
