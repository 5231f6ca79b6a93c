"""Content of `/metrics`."""

from prometheus_client.parser import text_string_to_metric_families

from sidecar.instance import Instance
from sidecar.metrics import DeliveryMetrics


def test_rendered_metrics_have_known_prefixes_and_values() -> None:
    collected = DeliveryMetrics("agent", "1.2.3")
    collected.events_sent.inc(5)
    collected.unacknowledged_age_seconds.set(1.5)
    families = list(text_string_to_metric_families(collected.render().decode()))
    samples = {sample.name: sample for family in families for sample in family.samples}
    assert all(name.startswith(("cdc_", "process_", "python_")) for name in samples)
    assert samples["cdc_events_sent_total"].value == 5
    assert samples["cdc_build_info"].labels == {"service_name": "agent", "version": "1.2.3"}
    assert "process_resident_memory_bytes" in samples


def test_instance_replaces_labels_of_build_info() -> None:
    collected = DeliveryMetrics("agent", "1.2.3")
    known = Instance("agent", "1.2.3", "host-1", "shop")
    for instance in (known, known.located("lab", "node-1", "dc1", "r1")):
        collected.set_instance(instance)
        lines = collected.render().decode().splitlines()
        assert len([line for line in lines if line.startswith("cdc_build_info{")]) == 1
    families = text_string_to_metric_families("\n".join(lines) + "\n")
    (sample,) = (each for family in families for each in family.samples if "build" in each.name)
    assert sample.labels == {
        "service_name": "agent",
        "version": "1.2.3",
        "host": "host-1",
        "topic_prefix": "shop",
        "cluster": "lab",
        "node_id": "node-1",
        "datacenter": "dc1",
        "rack": "r1",
    }


def test_metrics_of_two_registries_are_independent() -> None:
    first, second = DeliveryMetrics("a", "1"), DeliveryMetrics("b", "1")
    first.events_failed.inc()
    assert second.registry.get_sample_value("cdc_events_failed_total") == 0
