"""The attributes of Debezium's JMX beans, for existing scrapers of Debezium.

GET /metrics/jmx   under the names that the Prometheus JMX exporter produces with Debezium's rules:
                   debezium_metrics_ATTRIBUTE{plugin, name, context}
GET /metrics.json  {"snapshot": {…}, "streaming": {…}}: all attributes by context, including texts
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from flask import Blueprint, Response
from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.registry import Collector

from sidecar.metrics import CONTENT_TYPE

Contexts = Mapping[str, Mapping[str, Any]]
"""The attributes of each bean by its context."""

_PREFIX = "debezium_metrics_"
_UNKNOWN = re.compile(r"^(?=[0-9])|[^a-zA-Z0-9]+")
"""Characters in label names that the exporter replaces with a single `_`."""


class ExportedBeans(Collector):
    """Beans of a connector (`cassandra`) with the topic prefix `server`; `tags` become labels.

    Like the exporter, it omits texts and lists, and exports one sample per map entry.
    """

    def __init__(
        self, connector: str, server: str, contexts: Contexts, tags: Mapping[str, str]
    ) -> None:
        own = {_UNKNOWN.sub("_", name): value for name, value in tags.items()}
        self._labels = {**own, "plugin": connector, "name": server}
        self._contexts = contexts

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        for context, attributes in self._contexts.items():
            for attribute, value in attributes.items():
                name = _PREFIX + attribute
                for labels, number in _numbers(value):
                    told = f"Attribute {attribute} of Debezium's beans."
                    family = families.setdefault(name, Metric(name, told, "untyped"))
                    labels = {**self._labels, "context": context, **labels}
                    family.add_sample(name, labels, number)
        yield from families.values()


def _numbers(value: object) -> Iterator[tuple[dict[str, str], float]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            for _, number in _numbers(each):
                yield {"table": str(key)}, number
    elif isinstance(value, bool | int | float):
        yield {}, float(value)


def jmx_pages(
    connector: str,
    server: str,
    contexts: Callable[[], Contexts],
    tags: Mapping[str, str] = MappingProxyType({}),
) -> Blueprint:
    """`connector` is its name in JMX (`cassandra`), `server` the topic prefix, and `tags` are
    `custom.metric.tags`. `contexts` is called on the server's threads and must not wait."""
    pages = Blueprint("jmx", __name__)

    @pages.get("/metrics/jmx")
    def exported() -> Response:
        registry = CollectorRegistry()
        registry.register(ExportedBeans(connector, server, contexts(), tags))
        return Response(generate_latest(registry), content_type=CONTENT_TYPE)

    @pages.get("/metrics.json")
    def attributes() -> Response:
        text = json.dumps(contexts(), indent=2, ensure_ascii=False, default=str) + "\n"
        return Response(text, mimetype="application/json")

    return pages
