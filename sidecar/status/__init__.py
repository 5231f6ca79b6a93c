"""The status of an agent: ok, degraded or failing, with one condition for each cause.

Facts become conditions in the agents (`agent.status`, `mongo_agent.status`). `/health`, the page,
the metrics and the log all report the `Health` that follows from them.
"""

from sidecar.status.condition import Condition, State, Status, status_of
from sidecar.status.health import Component, Health, component_of, health_of
from sidecar.status.log import ConditionLog
from sidecar.status.metrics import StatusMetrics
from sidecar.status.watch import StatusWatch

__all__ = [
    "Component",
    "Condition",
    "ConditionLog",
    "Health",
    "State",
    "Status",
    "StatusMetrics",
    "StatusWatch",
    "component_of",
    "health_of",
    "status_of",
]
