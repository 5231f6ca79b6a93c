"""A schema registry on loopback that gives ids in turn, and is in whatever mood a test wants."""

import json
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import unquote, urlsplit

Answer = tuple[int, dict[str, Any]]


@dataclass
class FakeRegistry:
    """`with FakeRegistry() as registry:` listens on a free port."""

    schemas: list[str] = field(default_factory=list)
    """By id."""
    types: dict[str, str] = field(default_factory=dict)
    """`schemaType` of the schemas that are not Avro."""
    subjects: dict[str, list[str]] = field(default_factory=dict)
    """Schemas of each, the oldest first."""
    mood: Callable[[str, str], Answer | None] = lambda method, subject: None
    """Answers in place of the registry, by method and subject; None lets it answer."""
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    """Method, path and headers, their names in small letters."""
    tls: ssl.SSLContext | None = None
    """Of the server; None: plain HTTP."""

    def __enter__(self) -> Self:
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except (ConnectionError, ssl.SSLError):
                    self.close_connection = True

            def do_GET(self) -> None:
                self._answer(b"")

            def do_POST(self) -> None:
                self._answer(self.rfile.read(int(self.headers["Content-Length"])))

            def _answer(self, body: bytes) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                registry.requests.append((self.command, self.path, headers))
                status, document = registry.answer(self.command, self.path, body)
                data = json.dumps(document).encode()
                # Who asked may not have waited.
                with suppress(ConnectionError):
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                """Nothing is said."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if self.tls is not None:
            listener = self._server.socket
            # The handshake is made by whoever reads, so that one that hangs keeps nobody out.
            self._server.socket = self.tls.wrap_socket(
                listener, server_side=True, do_handshake_on_connect=False
            )
        serve = self._server.serve_forever
        self._thread = threading.Thread(target=serve, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        scheme = "http" if self.tls is None else "https"
        return f"{scheme}://127.0.0.1:{self._server.server_port}"

    def schema(self, number: int) -> str:
        """Behind an id."""
        return self.schemas[number]

    def answer(self, method: str, path: str, body: bytes) -> Answer:
        _, kind, subject, *rest = urlsplit(path).path.split("/")
        if kind == "schemas":
            return self._schema(int(rest[0]))
        subject = unquote(subject)
        if (other := self.mood(method, subject)) is not None:
            return other
        versions = self.subjects.get(subject, [])
        if method == "GET":
            if not versions:
                return 404, {"error_code": 40401, "message": f"Subject '{subject}' not found."}
            return 200, self._version(subject, len(versions))
        document = json.loads(body)
        schema = document["schema"]
        if "schemaType" in document:
            self.types[schema] = document["schemaType"]
        if rest == ["versions"]:
            if schema not in self.schemas:
                self.schemas.append(schema)
            if schema not in versions:
                self.subjects[subject] = [*versions, schema]
        elif schema not in versions:
            return 404, {"error_code": 40403, "message": "Schema not found"}
        return 200, self._version(subject, self.subjects[subject].index(schema) + 1)

    def _version(self, subject: str, version: int) -> dict[str, Any]:
        schema = self.subjects[subject][version - 1]
        number = self.schemas.index(schema)
        return {"subject": subject, "version": version, "id": number, "schema": schema}

    def _schema(self, number: int) -> Answer:
        if number >= len(self.schemas):
            return 404, {"error_code": 40403, "message": f"Schema {number} not found"}
        schema = self.schemas[number]
        found = {"schema": schema}
        # As the registries do, Avro is not named.
        return 200, found | ({"schemaType": self.types[schema]} if schema in self.types else {})
