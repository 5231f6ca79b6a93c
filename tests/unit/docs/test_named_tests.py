"""Every test that a page references exists."""

import re
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
TESTS = REPOSITORY / "tests"
PAGES = sorted((*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")))
_NAMED = re.compile(
    r"`(?:tests/)?((?:unit|integration|acceptance|oracle|support)/[\w/.-]+)?"
    r"(?:::(test_\w+)(?:\[[^]`]*\])?)?`"
)


@cache
def functions(path: Path) -> set[str]:
    """The tests in a file, or in all of them."""
    files = TESTS.rglob("*.py") if path == TESTS else [path]
    return set(re.findall(r"^def (test_\w+)\(", "\n".join(map(Path.read_text, files)), re.M))


def is_there(path: str, function: str) -> bool:
    found = [each for each in (TESTS / path, TESTS / f"{path}.py") if each.exists()]
    return bool(found) and (not function or function in functions(found[0]))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_tests_referenced_by_page_exist(page: Path) -> None:
    named = [each for each in _NAMED.findall(page.read_text(encoding="utf-8")) if any(each)]
    assert [each for each in named if not is_there(*each)] == []
