"""What `/metrics` answers."""

from prometheus_client.parser import text_string_to_metric_families

from sidecar.metrics import DeliveryMetrics
from sidecar.metrics import delivery as metrics


def constants() -> set[str]:
    names = {name for name in vars(metrics) if name.isupper()}
    return {str(getattr(metrics, name)) for name in names - {"PREFIX", "CONTENT_TYPE"}}


def test_every_name_is_served_with_its_unit() -> None:
    collected = DeliveryMetrics("agent", "1.2.3")
    collected.events_sent.inc(5)
    collected.unacknowledged_age_seconds.set(1.5)
    families = list(text_string_to_metric_families(collected.render().decode()))
    samples = {sample.name: sample for family in families for sample in family.samples}
    assert {name.removesuffix("_info") for name in samples} >= constants()
    assert all(name.startswith(metrics.PREFIX) for name in constants())
    assert samples[metrics.EVENTS_SENT].value == 5
    assert samples["cdc_build_info"].labels == {"service_name": "agent", "version": "1.2.3"}
    assert "process_resident_memory_bytes" in samples


def test_two_registries_do_not_meet() -> None:
    first, second = DeliveryMetrics("a", "1"), DeliveryMetrics("b", "1")
    first.events_failed.inc()
    assert second.registry.get_sample_value(metrics.EVENTS_FAILED) == 0
