"""Statistics of a run in files for monitoring. Each file is replaced atomically."""

import json
from collections.abc import Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, write_to_textfile

from spark_jobs.options.stream import StreamOptions


def write(options: StreamOptions, stats: Mapping[str, Any], registry: CollectorRegistry) -> None:
    """Write the statistics as JSON and the registry for Prometheus, to the configured files."""
    path = options.metrics_json_file
    if path is not None:
        unfinished = path.with_name(f".{path.name}.tmp")
        unfinished.write_text(json.dumps(dict(stats)) + "\n", encoding="utf-8")
        unfinished.replace(path)
    if options.metrics_prometheus_file is not None:
        write_to_textfile(str(options.metrics_prometheus_file), registry)


def counters(
    prefix: str, stats: Mapping[str, int], help_texts: Mapping[str, str]
) -> CollectorRegistry:
    """A registry with one counter for each statistic."""
    registry = CollectorRegistry()
    for name, value in stats.items():
        Counter(prefix + name, help_texts[name], registry=registry).inc(value)
    return registry
