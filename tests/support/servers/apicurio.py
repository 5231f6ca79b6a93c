"""A real schema registry, Apicurio Registry, by its API that is compatible with Confluent's."""

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import urllib3

from tests.support.servers.errors import ToolFailedError
from tests.support.servers.java import java
from tests.support.servers.maven import unpacked
from tests.support.servers.processes import DEADLINE_S, Server, ServerProcess, free_port, wait_until

VERSION = "3.3.3"
_API = "/apis/ccompat/v7"


class ApicurioRegistry(Server):
    """`with ApicurioRegistry(tmp_path / "registry") as registry:` gives a running one, BACKWARD
    being asked of every subject, as Confluent's registry does by itself.

    Schemas are in a file below the folder: `stop`, `kill` and `restart` keep them, and the port.
    Leaving the block ends the process.
    """

    def __init__(self, directory: Path, *, heap_mib: int = 384) -> None:
        self.directory = directory.resolve()
        self.port, self._management_port = free_port(), free_port()
        self._heap_mib = heap_mib
        self._process = ServerProcess(
            f"Apicurio Registry {VERSION} on {self.url}",
            ["unset"],
            self.directory / "registry.log",
            directory=self.directory,
        )
        self._http = urllib3.PoolManager(timeout=DEADLINE_S, retries=False)

    @property
    def url(self) -> str:
        """The URL for clients of Confluent's registry."""
        return f"http://127.0.0.1:{self.port}{_API}"

    def __enter__(self) -> Self:
        self.start()
        self.set_compatibility("BACKWARD")
        return self

    def __exit__(self, *exception: object) -> None:
        self._http.clear()
        super().__exit__()

    def start(self) -> None:
        """Start over the schemas of the last run, if any, and wait until it answers."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self._process.command = [str(word) for word in self._command()]
        self._process.start()
        wait_until(self._answers, "an answer", process=self._process)

    def set_compatibility(self, level: str, subject: str | None = None) -> None:
        """Of a subject, or of all that have none of their own."""
        path = "/config" if subject is None else f"/config/{quote(subject, safe='')}"
        self._ask("PUT", path, {"compatibility": level})

    def allow_any(self, subject: str) -> None:
        self.set_compatibility("NONE", subject)

    @contextmanager
    def outage(self) -> Iterator[None]:
        """It is killed, and started over its file at the end of the block."""
        self.kill()
        try:
            yield
        finally:
            self.start()

    def schema(self, number: int) -> str:
        """Behind an id."""
        return str(self._ask("GET", f"/schemas/ids/{number}")["schema"])

    def versions(self, subject: str) -> list[int]:
        """Ids of a subject's schemas, the oldest first."""
        path = f"/subjects/{quote(subject, safe='')}/versions"
        return [int(self._ask("GET", f"{path}/{each}")["id"]) for each in self._ask("GET", path)]

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        answer = self._http.request(method, self.url + path, json=body)
        if answer.status != http.client.OK:
            text = answer.data.decode(errors="replace")
            raise ToolFailedError(f"{method} {self.url}{path}: {answer.status}: {text}")
        return json.loads(answer.data)

    def _answers(self) -> bool:
        try:
            return self._http.request("GET", f"{self.url}/subjects").status == http.client.OK
        except urllib3.exceptions.HTTPError:
            return False

    def _command(self) -> list[str | Path]:
        settings = {
            "quarkus.http.host": "127.0.0.1",
            "quarkus.http.port": self.port,
            # Not set, this one listens on every address.
            "quarkus.management.host": "127.0.0.1",
            "quarkus.management.port": self._management_port,
            "apicurio.storage.kind": "sql",
            "apicurio.storage.sql.kind": "h2",
            # Without a delay, or what was written last is lost when the process is killed.
            "apicurio.datasource.url": f"jdbc:h2:file:{self.directory / 'schemas'};WRITE_DELAY=0",
            "java.util.logging.manager": "org.jboss.logmanager.LogManager",
        }
        return [
            java(21),
            *("-Xms64m", f"-Xmx{self._heap_mib}m", "-XX:+UseSerialGC", "-Djava.awt.headless=true"),
            *(f"-D{name}={value}" for name, value in settings.items()),
            *("-jar", _application() / "quarkus-run.jar"),
        ]


def _application() -> Path:
    return unpacked(f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all")
