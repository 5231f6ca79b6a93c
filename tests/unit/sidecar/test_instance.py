"""The identity of an agent, as JSON, labels and log fields."""

from sidecar.instance import Instance

KNOWN = Instance("agent", "1.2.3", "host-1", "shop")


def test_json_has_every_value() -> None:
    assert KNOWN.document() == {
        "service": "agent",
        "version": "1.2.3",
        "host": "host-1",
        "topic_prefix": "shop",
        "cluster": None,
        "node_id": None,
        "datacenter": None,
        "rack": None,
    }


def test_labels_are_the_known_values() -> None:
    assert KNOWN.located("lab", "node-1", "dc1", None).labels() == {
        "service_name": "agent",
        "version": "1.2.3",
        "host": "host-1",
        "topic_prefix": "shop",
        "cluster": "lab",
        "node_id": "node-1",
        "datacenter": "dc1",
    }


def test_log_fields_are_the_known_values() -> None:
    assert KNOWN.log_fields() == {
        "service": "agent",
        "version": "1.2.3",
        "host": "host-1",
        "topic_prefix": "shop",
    }


def test_a_new_place_replaces_the_old_one() -> None:
    first = KNOWN.located("lab", "node-1", "dc1", "r1")
    assert first.located("lab", "node-2", None, None) == KNOWN.located("lab", "node-2", None, None)


def test_the_host_is_this_machine_by_default() -> None:
    assert Instance("agent", "1").host
