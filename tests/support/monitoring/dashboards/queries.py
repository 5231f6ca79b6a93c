"""What a dashboard asks, with Grafana's variables filled in."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

VALUES = {"__rate_interval": "5m", "cluster": ".*", "datacenter": ".*", "instance": "n1:8000"}
_LABELS = re.compile(r"^label_values\((?P<series>.*), \w+\)$")


def panels(dashboard: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """All panels, also those in collapsed rows."""
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", ())


def filled(text: str) -> str:
    """An expression with a value for each variable."""
    return re.sub(r"\$\{?([a-z_]\w*)\}?", lambda found: VALUES[found[1]], text)


def expressions(dashboard: Mapping[str, Any]) -> Iterator[str]:
    """The expressions of all panels and variables."""
    for variable in dashboard["templating"]["list"]:
        if found := _LABELS.match(str(variable.get("definition", ""))):
            yield filled(found["series"])
    for panel in panels(dashboard):
        for target in panel.get("targets", ()):
            yield filled(target["expr"])
