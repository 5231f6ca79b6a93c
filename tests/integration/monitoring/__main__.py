"""`make monitoring-check`: promtool checks alarms, dashboards and metrics."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase

from agent.metrics import AgentMetrics
from mongo_agent.metrics import MongoMetrics
from sidecar.instance import Instance
from sidecar.metrics import DeliveryMetrics
from spark_jobs import metrics_files
from spark_jobs.options.job import StreamOptions
from spark_jobs.progress import MicroBatch
from tests.integration.monitoring import panels
from tests.support.checks.metric_table import spark_registries
from tests.support.monitoring.__main__ import FOLDER
from tests.support.servers.certificates import Authority

REPOSITORY = Path(__file__).resolve().parents[3]
PACKAGE = "github.com/prometheus/prometheus/cmd/promtool"
RELEASE = "v0.316.0"
"""Version of the Go module of Prometheus: 3.16.0."""
PROMTOOL = REPOSITORY / ".cache" / "prometheus" / RELEASE / "promtool"
# Only the service discoveries of the examples: half the build time.
TAGS = "remove_all_sd,enable_dns_sd,enable_kubernetes_sd,netgo,slicelabels"


def promtool() -> Path:
    """promtool of the pinned release, built once by Go."""
    if not PROMTOOL.exists():
        print(f"Building promtool {RELEASE}; the first time it takes minutes …", flush=True)
        subprocess.run(
            ("go", "install", f"-tags={TAGS}", f"{PACKAGE}@{RELEASE}"),
            check=True,
            env={**os.environ, "GOBIN": str(PROMTOOL.parent)},
            cwd=REPOSITORY.anchor,
        )
    return PROMTOOL


def expositions(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Metrics of agents and jobs with every label set, in the format of `/metrics` and of files."""
    instance = Instance("cdc-sidecar-cassandra", "1", "n1", "shop", "prod", "a1", "dc1", "r1")
    agent = AgentMetrics(DeliveryMetrics("agent", "1")).delivery
    mongo = MongoMetrics(DeliveryMetrics("mongo-agent", "1")).delivery
    for name, each in (("agent", agent), ("mongo-agent", mongo)):
        yield f"{name} at its start", each.render()
        each.set_instance(instance)
        with_every_label(each.registry)
        yield f"{name} with every label", each.render()
    for job, registry in spark_registries().items():
        path = folder / f"{job}.prom"
        options = StreamOptions(checkpoint="unused", metrics_prometheus_file=path)
        metrics_files.write(options, {}, registry, job=job, last=MicroBatch(1, 1))
        yield f"Spark job {job}", path.read_bytes()


def with_every_label(registry: CollectorRegistry) -> None:
    """Add a series to each metric without one."""
    for collector in list(registry._collector_to_names):
        if isinstance(collector, MetricWrapperBase) and collector._labelnames:
            collector.labels(*collector._labelnames)


def installed(folder: Path) -> list[Path]:
    """The scrape configurations as installed in `folder` instead of /etc/prometheus."""
    place = folder / "cdc"
    shutil.copytree(FOLDER, place)
    (place / "tls").mkdir()
    authority = Authority()
    authority.pem(place / "tls" / "ca.crt")
    identity = authority.signed("prometheus")
    for name in ("client.crt", "client.key"):
        identity.pem(place / "tls" / name)
    (place / "tls" / "token").write_text("token", encoding="utf-8")
    paths = [place / "prometheus.yaml", *sorted((place / "scrape").glob("*.yaml"))]
    for path in paths:
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("/etc/prometheus", str(folder)), encoding="utf-8")
    return paths


def main() -> int:
    tool, failed = promtool(), 0

    def check(*arguments: str, text: bytes | None = None, title: str = "") -> None:
        nonlocal failed
        print(f"== promtool {' '.join(arguments[:2])} {title}", flush=True)
        done = subprocess.run((str(tool), *arguments), input=text, check=False)
        failed += done.returncode != 0

    rules = [str(path) for path in sorted((FOLDER / "rules").glob("*.yaml"))]
    check("check", "rules", *rules)
    check("test", "rules", *(str(path) for path in sorted(Path(__file__).parent.glob("*.yaml"))))
    with tempfile.TemporaryDirectory() as folder:
        for path in installed(Path(folder)):
            check("check", "config", str(path), title=path.name)
        path, count = panels.write(Path(folder))
        check("test", "rules", str(path), title=f"({count} expressions of dashboards)")
        for name, text in expositions(Path(folder)):
            check("check", "metrics", text=text, title=f"of {name}")
    print(f"{failed} failed" if failed else "passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
