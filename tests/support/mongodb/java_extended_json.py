"""MongoDB's driver for Java as a second opinion: Debezium's texts are its texts."""

import hashlib
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.support.servers.cache import cached_directory
from tests.support.servers.java import java
from tests.support.servers.maven import artifact

_SOURCE = Path(__file__).parents[1] / "java" / "ExtendedJson.java"
_COMPILER = "org.eclipse.jdt:ecj:3.33.0"
_BSON = "org.mongodb:bson:5.6.1"
# Which characters are escaped depends on the release of Unicode, and so on that of Java.
_JAVA = 21


@dataclass(frozen=True, slots=True)
class ExtendedJson:
    """One document in every flavour; `spaced` is relaxed in the driver's own layout."""

    strict: str
    relaxed: str
    canonical: str
    spaced: str


def extended_json(documents: Iterable[bytes]) -> list[ExtendedJson]:
    """The driver's output for raw documents."""
    jar = artifact(_BSON)
    digest = hashlib.sha256(_SOURCE.read_bytes() + _BSON.encode()).hexdigest()[:12]

    def compile_into(target: Path) -> None:
        command = [str(java(_JAVA)), "-jar", str(artifact(_COMPILER)), "-17", "-nowarn"]
        command += ["-classpath", str(jar), "-d", str(target), str(_SOURCE)]
        subprocess.run(command, check=True, capture_output=True)

    classes = cached_directory(f"classes/mongo-{digest}", compile_into)
    done = subprocess.run(
        [str(java(_JAVA)), "-cp", f"{classes}:{jar}", "ExtendedJson"],
        input="".join(f"{document.hex()}\n" for document in documents).encode(),
        check=True,
        capture_output=True,
    )
    # Only the newline ends a line here, as text may have other separators in it.
    lines = done.stdout.decode().removesuffix("\n").split("\n")
    return [ExtendedJson(*line.split("\t")) for line in lines]
