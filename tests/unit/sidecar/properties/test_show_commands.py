"""Commands in messages include the options that select the configuration."""

import shlex
from pathlib import Path

import pytest

from sidecar.properties.loading import load
from sidecar.properties.show import presenting, runnable
from tests.support.agents.property_models import ShopProperties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Run `agent quarantine list`.", "Run `agent --config /etc/a.properties quarantine list`."),
        ("`mongo-agent plan`", "`mongo-agent --config /etc/a.properties plan`"),
        ("`agent --config b check`", "`agent --config b check`"),
        ("the agent retries; `agents`", "the agent retries; `agents`"),
    ],
)
def test_command_in_message_includes_config_option(text: str, expected: str) -> None:
    assert runnable(text, [Path("/etc/a.properties")]) == expected
    assert runnable(text, []) == text


def test_config_path_with_space_is_quoted_in_commands(tmp_path: Path) -> None:
    path = tmp_path / "a b.properties"
    path.write_text("topic.prefix=shop\npassword=very-secret-1\n")
    text = presenting(load(ShopProperties, [path]))("very-secret-1 `agent check`")
    words = shlex.split(text.split("`")[1])
    assert words == ["agent", "--config", str(path), "check"]
    assert "very-secret-1" not in text
