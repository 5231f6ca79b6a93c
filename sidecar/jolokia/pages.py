"""Metrics under the JMX names of Debezium's connectors, for existing scrapers.

GET  /metrics.json                  {"snapshot": {…}, "streaming": {…}}: attributes by context
GET  /jolokia/read/NAME[/ATTRIBUTE[/PATH]], /jolokia/list, /jolokia/search/NAME, /jolokia/version
POST /jolokia, /jolokia/read        one request, or a list of them

These pages only read.
"""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from flask import Blueprint, Response, request

from sidecar.http.token import only_reads
from sidecar.jolokia.protocol import MBean, answer, asked_by_document, asked_by_path

Contexts = Callable[[], Mapping[str, Mapping[str, Any]]]
"""The attributes of each bean by its context; called on the server's threads, must not wait."""


_PLAIN = re.compile(r"[\w\-%. \t]*")
_SPECIAL = re.compile(r'["*?\\]')
_ONE_TASK = {"task": "0"}
"""Debezium for MongoDB names the task since 2.0; this agent has one."""


def debezium_beans(
    connector: str,
    server: str,
    contexts: Mapping[str, Mapping[str, Any]],
    tags: Mapping[str, str] = MappingProxyType({}),
) -> list[MBean]:
    """The MBeans of a connector with the topic prefix `server`; `tags` are part of their names."""
    own = {name: _quoted(value) for name, value in tags.items()}
    return [
        MBean(
            f"debezium.{connector}",
            {"type": "connector-metrics", "context": context, "server": _quoted(server), **own},
            attributes,
            f"Metrics of {context} by Debezium's names",
            _ONE_TASK,
        )
        for context, attributes in contexts.items()
    ]


def jmx_pages(
    connector: str,
    server: str,
    version: str,
    contexts: Contexts,
    tags: Mapping[str, str] = MappingProxyType({}),
) -> Blueprint:
    """`connector` as in JMX (`cassandra`), `server` the topic prefix, `version` the agent's, `tags`
    those of `custom.metric.tags`."""
    pages = Blueprint("jmx", __name__)

    @pages.get("/metrics.json")
    def metrics() -> Response:
        return _json(contexts(), indent=2)

    @pages.get("/jolokia", defaults={"path": ""}, strict_slashes=False)
    @pages.get("/jolokia/<path:path>")
    def read(path: str) -> Response:
        asked = asked_by_path(path, request.args)
        return _json(answer(asked, beans(), version, int(time.time())))

    @pages.post("/jolokia", strict_slashes=False)
    @pages.post("/jolokia/read", strict_slashes=False)
    @only_reads
    def read_several() -> Response:
        # Some scrapers send JSON without its content type.
        document = request.get_json(silent=True, force=True)
        found, at_s = beans(), int(time.time())

        def answered(each: object) -> dict[str, Any]:
            return answer(asked_by_document(each, request.args), found, version, at_s)

        if isinstance(document, list):
            return _json([answered(each) for each in document])
        return _json(answered(document))

    def beans() -> Sequence[MBean]:
        return debezium_beans(connector, server, contexts(), tags)

    return pages


def _quoted(value: str) -> str:
    """As Kafka's `Sanitizer.jmxSanitize`."""
    if _PLAIN.fullmatch(value):
        return value
    escaped = _SPECIAL.sub(lambda found: "\\" + found.group(), value)
    return f'"{escaped}"'


def _json(value: object, *, indent: int | None = None) -> Response:
    text = json.dumps(value, indent=indent, ensure_ascii=False, default=str) + "\n"
    return Response(text, mimetype="application/json")
