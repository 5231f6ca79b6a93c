"""`make monitoring-check`: promtool on alarms, dashboards and metrics."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from agent.metrics import AgentMetrics
from mongo_agent.metrics import MongoMetrics
from sidecar.metrics import DeliveryMetrics
from tests.integration.monitoring import panels
from tests.support.monitoring.__main__ import FOLDER

REPOSITORY = Path(__file__).resolve().parents[3]
PACKAGE = "github.com/prometheus/prometheus/cmd/promtool"
RELEASE = "v0.316.0"
"""Of the Go module of Prometheus: 3.16.0."""
PROMTOOL = REPOSITORY / ".cache" / "prometheus" / RELEASE / "promtool"
# Only the service discoveries that the examples use: half the time to build.
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


def expositions() -> Iterator[tuple[str, bytes]]:
    """The metrics of both agents, as `/metrics` has them."""
    yield "agent", AgentMetrics(DeliveryMetrics("agent", "1")).delivery.render()
    yield "mongo-agent", MongoMetrics(DeliveryMetrics("mongo-agent", "1")).delivery.render()


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
        path, count = panels.write(Path(folder))
        check("test", "rules", str(path), title=f"({count} expressions of dashboards)")
    for name, text in expositions():
        check("check", "metrics", text=text, title=name)
    print(f"{failed} failed" if failed else "passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
