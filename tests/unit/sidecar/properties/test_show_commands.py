"""Commands in messages have the options that select the configuration."""

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
def test_a_command_names_the_file(text: str, expected: str) -> None:
    assert runnable(text, [Path("/etc/a.properties")]) == expected
    assert runnable(text, []) == text


def test_a_name_with_a_space_is_one_word(tmp_path: Path) -> None:
    path = tmp_path / "a b.properties"
    path.write_text("topic.prefix=shop\npassword=very-secret-1\n")
    text = presenting(load(ShopProperties, [path]))("very-secret-1 `agent check`")
    words = shlex.split(text.split("`")[1])
    assert words == ["agent", "--config", str(path), "check"]
    assert "very-secret-1" not in text
