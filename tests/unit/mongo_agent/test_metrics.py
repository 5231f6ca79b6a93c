"""Metrics of the MongoDB agent."""

from mongo_agent.metrics import MongoMetrics
from sidecar.metrics import DeliveryMetrics


def test_counter_continues_when_source_total_restarts() -> None:
    metrics = MongoMetrics(DeliveryMetrics("agent", "1"))
    for total in (2, 5, 1):
        metrics.count_up_to(metrics.elections, total)
    assert "cdc_elections_total 6.0" in metrics.delivery.render().decode().splitlines()
