"""The status of an agent: ok, degraded or failing, with one condition for each cause."""

from sidecar.status.condition import Condition, State, Status, status_of

__all__ = ["Condition", "State", "Status", "status_of"]
