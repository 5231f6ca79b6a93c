"""The figures of a run in files for those who watch it, whole or not at all."""

import json
from collections.abc import Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, write_to_textfile

from spark_jobs.options import StreamOptions


def write(options: StreamOptions, figures: Mapping[str, Any], registry: CollectorRegistry) -> None:
    """To the files that options name: the figures as JSON, the registry for Prometheus."""
    path = options.metrics_json_file
    if path is not None:
        unfinished = path.with_name(f".{path.name}.tmp")
        unfinished.write_text(json.dumps(dict(figures)) + "\n", encoding="utf-8")
        unfinished.replace(path)
    if options.metrics_prometheus_file is not None:
        write_to_textfile(str(options.metrics_prometheus_file), registry)


def counters(
    prefix: str, figures: Mapping[str, int], meanings: Mapping[str, str]
) -> CollectorRegistry:
    """Sums over a run, each a counter with its meaning."""
    registry = CollectorRegistry()
    for name, value in figures.items():
        Counter(prefix + name, meanings[name], registry=registry).inc(value)
    return registry
