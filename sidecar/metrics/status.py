"""The status as metrics."""

from prometheus_client import CollectorRegistry, Gauge

from sidecar.health.condition import AGENT_STATES, Status


class StatusMetrics:
    """Two gauges in a registry. Call `set` before each rendering, from one thread at a time."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._status = Gauge(
            "cdc_status",
            "1 for the current status of the agent, 0 for the others, by status: ok, degraded or "
            "failing.",
            ("status",),
            registry=registry,
        )
        self._conditions = Gauge(
            "cdc_condition",
            "1 while a condition exists, by code and by the status that it causes; /health has the "
            "message and the remedy.",
            ("code", "status"),
            registry=registry,
        )
        for state in AGENT_STATES:
            self._status.labels(state.value)

    def set(self, status: Status) -> None:
        """Sets both gauges and drops the samples of resolved conditions."""
        for state in AGENT_STATES:
            self._status.labels(state.value).set(state is status.state)
        self._conditions.clear()
        for condition in status.conditions:
            self._conditions.labels(condition.code, condition.state.value).set(1)
