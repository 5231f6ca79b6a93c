"""The status of an agent, from its facts to the log.

Facts become conditions in the agents (`agent.status`, `mongo_agent.status`). `/health`, the page,
the metrics and the log all report the `Health` that follows from them.
"""

from sidecar.status.log import ConditionLog
from sidecar.status.watch import StatusWatch

__all__ = ["ConditionLog", "StatusWatch"]
