"""The identity of an agent, as JSON, labels and log fields."""

from sidecar.instance import Instance

KNOWN = Instance("agent", "1.2.3", "host-1", "shop")


def test_instance_labels_and_log_fields_omit_unknown_values() -> None:
    place = {"cluster": "lab", "node_id": "node-1", "datacenter": "dc1"}
    known = {"version": "1.2.3", "host": "host-1", "topic_prefix": "shop", **place}
    found = KNOWN.located(**place, rack=None)
    assert found.document() == {"service": "agent", **known, "rack": None}
    assert found.log_fields() == {"service": "agent", **known}
    assert found.labels() == {"service_name": "agent", **known}


def test_new_location_replaces_the_previous_location() -> None:
    first = KNOWN.located("lab", "node-1", "dc1", "r1")
    assert first.located("lab", "node-2", None, None) == KNOWN.located("lab", "node-2", None, None)


def test_instance_host_defaults_to_this_machine() -> None:
    assert Instance("agent", "1").host
