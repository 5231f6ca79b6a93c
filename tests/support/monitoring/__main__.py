"""`python -m tests.support.monitoring` writes k8s/monitoring; options write copies for one site."""

import argparse
import json
from pathlib import Path

from tests.support.monitoring.dashboards.sources import from_source
from tests.support.monitoring.rules import written_rules

FOLDER = Path(__file__).resolve().parents[3] / "k8s" / "monitoring"
MANUAL = "https://docs.cdc-sidecar.example"
"""Address of the built site, unless an option names another one."""


def written(manual: str = MANUAL, selector: str = "") -> dict[str, str]:
    """Every generated file by its path below k8s/monitoring."""
    dashboards = ("fleet", "cassandra", "mongodb", "spark")
    return {
        **written_rules(FOLDER, manual, selector),
        **{
            f"dashboards/cdc-{name}.json": json.dumps(from_source(name), indent=1) + "\n"
            for name in dashboards
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="make monitoring", description="Write alarms and dashboards."
    )
    parser.add_argument("--manual", default=MANUAL, help="address of the built site")
    parser.add_argument("--selector", default="", help='matchers for every series: env="prod"')
    parser.add_argument("--output", type=Path, default=FOLDER, help="folder of the written files")
    given = parser.parse_args()
    if given.selector and given.output.resolve() == FOLDER:
        parser.error("--selector needs an --output: k8s/monitoring holds the source.")
    for name, text in written(given.manual, given.selector).items():
        path = given.output / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
