"""YAML of the node cannot exhaust the agent, whatever it has."""

from pathlib import Path

import pytest

from agent.config.bounded_yaml import MAX_BYTES, bounded_yaml
from agent.config.node_settings import read_cassandra_yaml, settings_of_node
from sidecar.errors import ConfigError

ALIASES = "a0: &a0 [x, x]\n" + "".join(
    f"a{number}: &a{number} [*a{number - 1}, *a{number - 1}]\n" for number in range(1, 30)
)
BOMBS = {
    "aliases": (f"{ALIASES}cluster_name: *a29\n", "aliases"),
    "an alias of itself": ("cluster_name: &a [*a]\n", "aliases"),
    "deep lists": ("cluster_name: " + "[" * 20_000, "nested too deeply"),
    "deep maps": ("cluster_name: " + "{a: " * 20_000, "nested too deeply"),
    "deep blocks": ("- " * 20_000, "nested too deeply"),
    "a long number": (f"native_transport_port: {'9' * 5000}\n", "invalid date or number"),
    "a day that no month has": ("cluster_name: 2001-99-99\n", "invalid date or number"),
    "an object of Python": ("cluster_name: !!python/object:os.system {}\n", "not valid YAML"),
    "many values": ("cluster_name: [" + "x," * 20_000 + "]\n", "more than 20000 values"),
    "too long": ("#" * MAX_BYTES + "\n" + "a: 1\n", "more than"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_a_mistake_in_the_configuration(name: str, tmp_path: Path) -> None:
    text, reason = BOMBS[name]
    file = tmp_path / "cassandra.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_cassandra_yaml(file)
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("name", [each for each in BOMBS if each != "deep blocks"])
def test_a_setting_of_the_node_is_bounded_too(name: str) -> None:
    text, reason = BOMBS[name]
    with pytest.raises(ConfigError, match=reason):
        settings_of_node("system_views.settings", {"cluster_name": text})


def test_a_wrong_value_is_shown_in_part() -> None:
    with pytest.raises(ConfigError) as caught:
        settings_of_node("the node", {"cdc_enabled": f"'{'x' * 100_000}'"})
    assert len(str(caught.value)) < 1000
    for huge in (f"{'9' * 5000}MiB", f"{'9' * 100}MiB"):
        with pytest.raises(ConfigError, match="is invalid"):
            settings_of_node("the node", {"cdc_total_space": f"'{huge}'"})


def test_plain_documents_are_read() -> None:
    assert bounded_yaml("a: [1, 'x', 2.5]\nb: {c: true}\n") == {
        "a": [1, "x", 2.5],
        "b": {"c": True},
    }
