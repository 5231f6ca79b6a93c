"""Old names of metrics and labels, beside the new ones."""

from prometheus_client.parser import text_string_to_metric_families

from agent.metrics import AgentMetrics
from mongo_agent.metrics import MongoMetrics
from sidecar.metrics import DeliveryMetrics
from sidecar.metrics.deprecated import RENAMED

Labels = tuple[tuple[str, str], ...]


def samples(metrics: DeliveryMetrics) -> dict[tuple[str, Labels], float]:
    families = text_string_to_metric_families(metrics.render().decode())
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_a_renamed_metric_has_its_value_under_both_names() -> None:
    metrics = AgentMetrics(DeliveryMetrics("agent", "1"))
    metrics.blocked_seconds.set(12.5)
    found = samples(metrics.delivery)
    assert found["cdc_blocked_seconds", ()] == found["cdc_held_seconds", ()] == 12.5
    assert "# HELP cdc_held_seconds Deprecated: use cdc_blocked_seconds." in (
        metrics.delivery.render().decode()
    )


def test_a_counter_keeps_its_gauge_and_the_old_label() -> None:
    metrics = MongoMetrics(DeliveryMetrics("agent", "1"))
    metrics.count_up_to(metrics.stream_reopenings.labels("shop"), 3)
    both = (("lane", "shop"), ("stream", "shop"))
    found = samples(metrics.delivery)
    assert found["cdc_stream_reopenings_total", both] == found["cdc_stream_reopenings", both] == 3


def test_a_total_that_starts_again_elsewhere_keeps_counting() -> None:
    metrics = MongoMetrics(DeliveryMetrics("agent", "1"))
    for total in (2, 5, 1):
        metrics.count_up_to(metrics.elections, total)
    assert samples(metrics.delivery)["cdc_elections_total", ()] == 6


def test_every_old_name_is_exported_by_an_agent() -> None:
    exported = {
        name
        for metrics in (
            AgentMetrics(DeliveryMetrics("a", "1")),
            MongoMetrics(DeliveryMetrics("m", "1")),
        )
        for name, _ in samples(metrics.delivery)
    }
    unlabelled = set(RENAMED) - {"cdc_stream_reopenings"}
    assert unlabelled <= exported
