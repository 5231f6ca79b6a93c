"""No regular expression of the product takes more than linear time.

Each expression is matched against texts that repeat a part made of its own letters. A backtracking
matcher counts steps, so the result does not depend on the machine.
"""

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.checks.backtracking import TooManyStepsError, attacks, steps

pytestmark = pytest.mark.heavy

REPOSITORY = Path(__file__).parents[2]
ROOMS = ("agent", "sidecar", "mongo_agent", "spark_jobs")
METHODS = {"match", "fullmatch", "search", "sub", "split", "findall", "finditer"}
SHORT = 24
"""Length of the shorter text, if it has at least four parts."""
MOST_GROWTH = 6
"""For a text four times as long, linear time takes 4 times the steps, quadratic time 16 times."""
REVIEWED = {
    "sidecar/properties/references.py _ANY": "the text is a value of the operator's configuration",
    "sidecar/properties/secrets.py _SECRET_VALUE": "the same",
    "sidecar/sinks/kafka/delivery_errors.py _ENDED_HANDSHAKE": "librdkafka's messages end at 512",
    "spark_jobs/errors.py _NO_TOPIC": "the message of an exception, read when the job ends",
}


@cache
def files() -> list[Path]:
    found = [file for room in ROOMS for file in sorted((REPOSITORY / room).rglob("*.py"))]
    return [file for file in found if re.search(r"^import re$", file.read_text(), re.MULTILINE)]


def uses(file: Path) -> Iterator[tuple[str, re.Pattern[str], str]]:
    """The constant expressions of a file, with the methods that use them.

    `search` stands for every method that starts at each position."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        owner, method = node.func.value, node.func.attr
        if not isinstance(owner, ast.Name) or method not in METHODS:
            continue
        pattern: object = None
        first = node.args[0] if node.args else None
        if owner.id == "re" and isinstance(first, ast.Constant) and isinstance(first.value, str):
            pattern = re.compile(first.value)
        elif owner.id != "re":
            module = ".".join(file.relative_to(REPOSITORY).with_suffix("").parts)
            pattern = getattr(importlib.import_module(module), owner.id, None)
        if isinstance(pattern, re.Pattern):
            name = owner.id if owner.id != "re" else pattern.pattern
            yield name, pattern, method if method in ("match", "fullmatch") else "search"


def growth(pattern: re.Pattern[str], method: str, most: int) -> tuple[float, str]:
    """The largest growth of the steps, and the repeated part."""
    worst, worst_part = 0.0, ""
    for begin, part, end in attacks(pattern, most):
        count = max(SHORT // len(part), 4)
        try:
            short, long = (
                steps(pattern, begin + part * many + end, method) for many in (count, 4 * count)
            )
        except TooManyStepsError:
            return float("inf"), part
        if long / short > worst:
            worst, worst_part = long / short, part
    return worst, worst_part


def check(file: Path, most: int) -> None:
    place = str(file.relative_to(REPOSITORY))
    for name, pattern, method in dict.fromkeys(uses(file)):
        worst, part = growth(pattern, method, most)
        if f"{place} {name}" not in REVIEWED:
            assert worst < MOST_GROWTH, f"{place}: {name} ({method}) repeats {part!r}: {worst:.1f}"


@pytest.mark.parametrize("file", files(), ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_expressions_take_linear_time(file: Path) -> None:
    check(file, 2)


@pytest.mark.slow
@pytest.mark.parametrize("file", files(), ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_expressions_take_linear_time_with_all_attacks(file: Path) -> None:
    check(file, 14)


@pytest.mark.parametrize(
    ("text", "is_linear"),
    [
        (r"(a+)+$", False),
        (r"(a|a)*$", False),
        (r"\s*$", False),
        (r"a*b", False),
        (r"(?<!a)a*b", True),
        (r"/\*.*?\*/", False),
        (r"/\*.*?(?:\*/|\Z)", True),
        (r"a*+b", False),
        (r"[a-z]{1,8}:", True),
        (r"(\w+)\s*=", False),
        (r"(?<!\w)(\w+)\s*=", True),
    ],
)
def test_check_detects_superlinear_expressions(text: str, is_linear: bool) -> None:
    worst, _ = growth(re.compile(text, re.DOTALL), "search", 4)
    assert (worst < MOST_GROWTH) == is_linear


@pytest.mark.parametrize(
    ("text", "content"),
    [(r"(?:a|b)+?c*d?", "abacd"), (r"\b\w+\b", "a b"), (r"(?<=x)[^y]{2,3}", "xabc"), (r"^a$", "a")],
)
def test_counting_matcher_agrees_with_python(text: str, content: str) -> None:
    from tests.support.checks.backtracking import matches

    pattern = re.compile(text)
    assert matches(pattern, content) == [found.span() for found in pattern.finditer(content)]
