"""Metrics of the MongoDB agent."""

from mongo_agent.metrics import MongoMetrics
from sidecar.metrics import DeliveryMetrics


def test_a_total_that_starts_again_elsewhere_keeps_counting() -> None:
    metrics = MongoMetrics(DeliveryMetrics("agent", "1"))
    for total in (2, 5, 1):
        metrics.count_up_to(metrics.elections, total)
    assert "cdc_elections_total 6.0" in metrics.delivery.render().decode().splitlines()
