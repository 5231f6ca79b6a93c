"""Configured expressions that a backtracking engine cannot finish."""

import subprocess
import sys
from pathlib import Path

import pytest

from agent.config.lists import is_published, validated_expressions
from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.snapshot.collections import name_expression

ROOT = Path(__file__).parents[3]
HOSTILE = ["(a+)+$", "(a|aa)+$", "(a|a?)+$", "(.*a){25}", "([a-zA-Z]+)*$"]
NAME = "k." + "a" * 47 + "!"


@pytest.mark.parametrize("expression", HOSTILE)
def test_table_lists_are_matched_in_linear_time(expression: str) -> None:
    """Rust's engine does not backtrack. The test's timeout would end a slow match."""
    validated_expressions((expression,))
    is_published(NAME, (expression,), ())
    is_published(NAME, (), (expression,))


def test_oversized_table_expression_is_rejected() -> None:
    with pytest.raises(ValueError, match="size limit"):
        validated_expressions(("((a{1000}){1000}){1000}",))


@pytest.mark.parametrize("expression", HOSTILE)
def test_collection_lists_are_matched_in_bounded_time(expression: str) -> None:
    """Python's engine would not finish any of these expressions."""
    included = Namespaces(include_collections=(expression + "b",))
    excluded = Namespaces(exclude_collections=(expression + "b",))
    assert not included.captures("k", "a" * 250)
    assert excluded.captures("k", "a" * 250)


def test_look_around_of_debezium_is_supported() -> None:
    found = Namespaces(include_collections=(r"(?!tmp)(\w+[.])+(?<!_old[.])orders",))
    assert found.captures("shop", "eu.orders")
    assert not found.captures("tmp", "eu.orders")
    assert not found.captures("shop", "eu_old.orders")


def check(expression: str, tmp_path: Path) -> "subprocess.CompletedProcess[str]":
    """Run `config check` with an expression in a list."""
    path = tmp_path / "mongo.properties"
    lines = {
        "topic.prefix": "shop",
        "mongodb.connection.string": "mongodb://127.0.0.1/?replicaSet=rs0",
        "offset.backing.store.dir": tmp_path,
        "sink": "stdout",
        "collection.include.list": expression.replace("\\", "\\\\"),
    }
    path.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    program = [sys.executable, "-m", "mongo_agent", "config", "check", "--config", str(path)]
    return subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)


def test_config_check_rejects_an_oversized_expression(tmp_path: Path) -> None:
    done = check("((a{1000}){1000}){1000}", tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "collection.include.list" in done.stdout + done.stderr
    assert "Simplify it" in done.stdout + done.stderr


def test_config_check_warns_about_an_unbounded_expression(tmp_path: Path) -> None:
    done = check(r"shop[.](\w+)+\1", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    said = " ".join((done.stdout + done.stderr).split())
    assert r"contains `shop[.](\w+)+\1`, which may take unbounded time: backreferences are" in said
    assert "`collection.include.list`" in said
    assert "a back reference with alternatives" in said


def test_hostile_expression_in_a_signal_is_harmless() -> None:
    """Senders of signals can have fewer rights than the operator."""
    assert not name_expression("k[.](a+)+b", is_linear=True).matches("k." + "a" * 250)
    with pytest.raises(ValueError, match="Simplify it"):
        name_expression("((a{1000}){1000}){1000}", is_linear=True)
    with pytest.raises(ValueError, match="bounded time: look-around"):
        name_expression("k[.](?=(a+)+b).*", is_linear=True)
