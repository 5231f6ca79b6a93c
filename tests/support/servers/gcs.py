"""A real server of Google Cloud Storage's JSON API (fake-gcs-server).

The server keeps objects in memory and holds uploads to their generation preconditions and
checksums. Unlike Google's it appends a chunk that comes twice.
"""

import json
import urllib.parse
import urllib.request
from pathlib import Path

from tests.support.servers.go import go_program
from tests.support.servers.processes import (
    DEADLINE_S,
    Server,
    ServerProcess,
    accepts_connections,
    free_port,
    wait_until,
)

VERSION = "v1.56.1"


class GcsServer(Server):
    """`with GcsServer(tmp_path) as server:` gives a server on a free loopback port."""

    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        program = go_program("github.com/fsouza/fake-gcs-server", VERSION)
        command = [str(program), "-scheme", "http", "-host", "127.0.0.1", "-port", str(self.port)]
        command += ["-backend", "memory", "-log-level", "warn"]
        self._process = ServerProcess(f"fake-gcs-server {VERSION}", command, directory / "gcs.log")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """With nothing in it."""
        self._process.start()
        wait_until(lambda: accepts_connections("127.0.0.1", self.port), "it", process=self._process)

    def create_bucket(self, name: str) -> None:
        self._ask("POST", "/storage/v1/b", json.dumps({"name": name}).encode())

    def put(self, bucket: str, name: str, content: bytes) -> None:
        """An object, whatever is there."""
        query = urllib.parse.urlencode({"uploadType": "media", "name": name})
        self._ask("POST", f"/upload/storage/v1/b/{bucket}/o?{query}", content)

    def names(self, bucket: str) -> list[str]:
        return list(self.sizes(bucket))

    def sizes(self, bucket: str) -> dict[str, int]:
        """Bytes of each object, by name."""
        found = json.loads(self._ask("GET", f"/storage/v1/b/{bucket}/o"))
        return {item["name"]: int(item["size"]) for item in found.get("items", ())}

    def content(self, bucket: str, name: str) -> bytes:
        quoted = urllib.parse.quote(name, safe="")
        return self._ask("GET", f"/storage/v1/b/{bucket}/o/{quoted}?alt=media")

    def delete(self, bucket: str, name: str) -> None:
        self._ask("DELETE", f"/storage/v1/b/{bucket}/o/{urllib.parse.quote(name, safe='')}")

    def _ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        request = urllib.request.Request(f"{self.url}{path}", body, method=method)
        with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
            return bytes(answer.read())
