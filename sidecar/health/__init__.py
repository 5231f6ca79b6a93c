"""The health of an agent: ok, degraded or failing, with one condition for each cause."""

from sidecar.health.condition import Condition, State, Status, status_of
from sidecar.health.health import Component, Health, component_of, health_of

__all__ = [
    "Component",
    "Condition",
    "Health",
    "State",
    "Status",
    "component_of",
    "health_of",
    "status_of",
]
