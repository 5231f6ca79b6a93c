"""Every test that a page names is there."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
TESTS = REPOSITORY / "tests"
PAGES = sorted((*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")))
_PATH = re.compile(
    r"`(?:tests/)?((?:unit|integration|acceptance|oracle|support)/[\w/-]+(?:\.py)?)(?:::\w+)?`"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_the_tests_that_a_page_names_are_there(page: Path) -> None:
    names = _PATH.findall(page.read_text(encoding="utf-8"))
    missing = [
        name
        for name in names
        if not (TESTS / name).exists() and not (TESTS / f"{name}.py").exists()
    ]
    assert missing == []
