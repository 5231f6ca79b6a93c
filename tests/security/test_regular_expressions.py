"""Expressions of a configuration that take a backtracking engine for ever."""

import subprocess
import sys
from pathlib import Path

import pytest

from agent.config.patterns import compiled_alone, is_published

ROOT = Path(__file__).parents[2]
HOSTILE = ["(a+)+$", "(a|aa)+$", "(a|a?)+$", "(.*a){25}", "([a-zA-Z]+)*$"]
NAME = "k." + "a" * 47 + "!"


@pytest.mark.parametrize("expression", HOSTILE)
def test_lists_of_tables_take_linear_time(expression: str) -> None:
    """They are Rust's, which never goes back. The test's own time-out would end it."""
    compiled_alone((expression,))
    is_published(NAME, (expression,), ())
    is_published(NAME, (), (expression,))


def test_an_expression_that_grows_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match="size limit"):
        compiled_alone(("((a{1000}){1000}){1000}",))


def test_a_hostile_expression_of_mongo_is_the_operators_own() -> None:
    """Debezium's lists need look-around, so Python's engine reads them: it can go back for ever.
    Names come from the server and expressions from the operator, who alone can do this; nothing of
    the agent waits for more than names of 255 bytes. This holds that ordinary ones are quick."""
    program = (
        "from mongo_agent.capture.namespaces import Namespaces\n"
        "found = Namespaces(include_collections=('shop[.].*', '(?!tmp).*[.]orders'))\n"
        "assert all(found.captures('shop', 'a' * 250) for _ in range(1000))\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT, timeout=120)
