"""The HTTP server of an agent: a Flask application, served by waitress on a separate thread.

/ping       pong                        the process answers
/buildinfo  {"version", "service_name", "host", "topic_prefix", "cluster", "node_id", …}
/live       200 or 503 and a message    the main loop makes progress; otherwise restart it
/ready      200 or 503 and a message    the agent delivers
/health     200 when ok, 503 when degraded or failing: status, message, instance, uptime_s,
            destination, configuration_fingerprint, conditions, components
/offsets    stored and current positions
/metrics    Prometheus text

An agent adds pages as blueprints: `sidecar.page`, `sidecar.http.jmx_pages`, and its own. Every
client that reaches the address may read everything, and make the changes that those pages allow.
So `http.host` defaults to loopback, and a token (`http.token`) can protect changes.
"""

import gc
import itertools
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from flask import Blueprint, Flask, Response, g, request
from flask.json.provider import DefaultJSONProvider
from werkzeug.exceptions import HTTPException

from sidecar import metrics
from sidecar.health.condition import Health, State
from sidecar.http.address import listening_socket
from sidecar.http.connections import THREADS, bounded_server
from sidecar.http.guard import guard_requests
from sidecar.http.hosts import KnownHosts
from sidecar.http.requests import json_answer
from sidecar.http.token import read_token, require_token
from sidecar.instance import Instance

_CHANGES_AT_ONCE = THREADS - 2
"""State-changing requests may wait for the pipeline, and probes need free threads."""
_REQUESTS_OF_A_COLLECTION = 100
_JOIN_S = 10.0
_PAGES = "GET / is the status page; GET /health, /metrics and /offsets are for programs."


@dataclass(frozen=True, slots=True)
class ProbeResult:
    ok: bool
    message: str


class StatusSource(Protocol):
    """The state of the agent. Called on the server's threads; must not block."""

    def instance(self) -> Instance: ...
    def about(self) -> Mapping[str, object]:
        """The members of `/health` that describe the agent, for JSON."""

    def live(self) -> ProbeResult: ...
    def ready(self) -> ProbeResult: ...
    def health(self) -> Health: ...
    def offsets(self) -> Mapping[str, object]:
        """The positions, as a JSON object."""

    def metrics(self) -> bytes:
        """Prometheus text."""


def create_app(
    status: StatusSource,
    pages: Sequence[Blueprint] = (),
    token_file: Path | None = None,
    hide: Callable[[str], str] = str,
    hosts: KnownHosts | None = None,
) -> Flask:
    """Create the application without a server; `pages` are the agent's own.

    Without `token_file`, no request needs a token. `hide` removes secrets from JSON. `hosts` are
    the accepted host names.
    """
    app = Flask("sidecar", static_folder=None)
    app.json = _BoundedJson(app)
    guard_requests(app, hosts or KnownHosts())

    @app.after_request
    def without_secrets(response: Response) -> Response:
        if response.mimetype == "application/json":
            response.set_data(hide(response.get_data(as_text=True)))
        return response

    if token_file is not None:
        require_token(app, token_file)
    _limit_changes(app)
    _limit_garbage(app)
    for blueprint in pages:
        app.register_blueprint(blueprint)

    @app.get("/ping")
    def ping() -> Response:
        return Response("pong", mimetype="text/plain")

    @app.get("/buildinfo")
    def buildinfo() -> Response:
        document: dict[str, object] = {**status.instance().document()}
        return json_answer({"service_name": document.pop("service"), **document})

    @app.get("/live")
    def live() -> Response:
        return _probe(status.live())

    @app.get("/ready")
    def ready() -> Response:
        return _probe(status.ready())

    @app.get("/health")
    def health() -> Response:
        health = status.health()
        document = health.to_document()
        summary = {name: document.pop(name) for name in ("status", "message")}
        return json_answer(
            {**summary, **status.about(), **document}, 200 if health.state is State.OK else 503
        )

    @app.get("/offsets")
    def offsets() -> Response:
        return json_answer(status.offsets())

    @app.get("/metrics")
    def prometheus() -> Response:
        return Response(status.metrics(), content_type=metrics.CONTENT_TYPE)

    @app.errorhandler(HTTPException)
    def rejected(error: HTTPException) -> Response:
        text = f"{error.code} {error.name}. {_PAGES}\n"
        headers = [(name, value) for name, value in error.get_headers() if name != "Content-Type"]
        return Response(text, status=error.code, headers=headers, mimetype="text/plain")

    return app


def _limit_changes(app: Flask) -> None:
    """Reject changes with 503 while too many other changes wait for the pipeline."""
    slots = threading.BoundedSemaphore(_CHANGES_AT_ONCE)

    @app.before_request
    def acquire_slot() -> Response | None:
        if request.method in ("GET", "HEAD"):
            return None
        if not slots.acquire(blocking=False):
            busy = f"{_CHANGES_AT_ONCE} requests wait for the pipeline. Try again.\n"
            return Response(busy, 503, {"Retry-After": "1"}, mimetype="text/plain")
        g.has_slot = True
        return None

    @app.teardown_request
    def release_slot(error: BaseException | None) -> None:
        if g.pop("has_slot", False):
            slots.release()


def _limit_garbage(app: Flask) -> None:
    """Collect the requests' reference cycles in small portions. While events flow, Python collects
    100,000 objects at once (`tune_interpreter`), which would hold the GIL for 100 ms."""
    served = itertools.count(1)

    @app.teardown_request
    def collect(error: BaseException | None) -> None:
        # The exception refers to frames that refer to the request.
        request.routing_exception = None
        if next(served) % _REQUESTS_OF_A_COLLECTION == 0:
            gc.collect(0)


class _BoundedJson(DefaultJSONProvider):
    """Treats a document that is nested too deeply as invalid JSON."""

    def loads(self, s: str | bytes, **options: Any) -> Any:
        try:
            return super().loads(s, **options)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


class HttpServer:
    """Serves a status from `start` to `close`. Port 0 selects a free port, see `port`."""

    def __init__(
        self,
        status: StatusSource,
        host: str,
        port: int,
        pages: Sequence[Blueprint] = (),
        token_file: Path | None = None,
        hide: Callable[[str], str] = str,
        allowed_hosts: Sequence[str] = (),
    ) -> None:
        """See `create_app`; `allowed_hosts` is `http.allowed.hosts`. Raises ConfigError for a file
        without a token."""
        if token_file is not None:
            read_token(token_file)
        self._app = create_app(
            status, pages, token_file, hide, KnownHosts(host, tuple(allowed_hosts))
        )
        self._host = host
        self._wanted_port = port
        self._server: Any = None
        self._sockets: dict[int, Any] = {}
        self._thread = threading.Thread(target=lambda: self._server.run(), name="http", daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.effective_port)

    def start(self) -> None:
        """Listen and serve. Raises ConfigError when the address cannot be used."""
        logging.getLogger("waitress").setLevel(logging.ERROR)
        listener = listening_socket(self._host, self._wanted_port)
        self._server = bounded_server(self._app, listener, self._sockets)
        self._thread.start()

    def close(self) -> None:
        """Close all connections and stop the thread."""
        if self._server is None:
            return
        # Workers also wake the loop, so they must stop before its trigger is closed.
        self._server.task_dispatcher.shutdown()
        pulled = threading.Event()

        # Only the loop may close its sockets, because it may be waiting on them. If awake, it may
        # run this before the trigger is written, and writing requires an open trigger.
        def close_after_pull() -> None:
            pulled.wait(_JOIN_S)
            for dispatcher in list(self._sockets.values()):
                dispatcher.close()

        self._server.trigger.pull_trigger(close_after_pull)
        pulled.set()
        self._thread.join(_JOIN_S)
        self._server = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _probe(result: ProbeResult) -> Response:
    document = {"status": "ok" if result.ok else "failing", "message": result.message}
    return json_answer(document, 200 if result.ok else 503)
