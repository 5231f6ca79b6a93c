"""Each test that the page on security names is there."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[2]
DOCUMENT = TESTS.parent / "docs" / "explanation" / "security.md"
_NAMED = re.compile(r"`([\w/]*(?:\.py)?)::(test_\w+)(?:\[[^]`]*\])?`")
_FILE = re.compile(r"`([\w/]+\.py)`")


def test_each_test_that_the_page_names_is_there() -> None:
    text = DOCUMENT.read_text()
    texts = {str(path.relative_to(TESTS)): path.read_text() for path in TESTS.rglob("*.py")}
    everything = "\n".join(texts.values())
    named = _NAMED.findall(text)
    assert len(named) > 50
    for file, function in named:
        assert f"def {function}(" in (texts[file] if file else everything), (file, function)
    for file in _FILE.findall(text):
        assert file in texts or (TESTS.parent / file).exists(), file
