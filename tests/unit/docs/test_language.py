"""The style of the documentation: short lines, short sentences, no banned constructions."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.config import model as agent_model
from mongo_agent.config import model as mongo_model
from sidecar.properties.model import declarations
from tests.support.checks.documentation import (
    DOCS,
    LINK,
    PAGES,
    REPOSITORY,
    name,
    plain,
    sentences,
    words,
)
from tests.support.checks.metric_table import all_metrics

MAX_LINE = 120
MAX_WORDS = 25
README_LINES = 120

BANNED = (
    *(r"\bnobody\b", r"\bsomebody\b", r"\bin front of\b", r"\bby itself alone\b"),
    *(r"\bfor people\b", r"\bwhat (?:it|they|this) (?:is|are) for\b"),
    *(r"\bbehind (?:it|them|that|this|its|the last|the first|each)\b", r"\bcome[s]? about\b"),
    r"\b(?:is|are|was|were) told\b",
    *(r"(?<!all )(?<!one )(?<!none )(?<!some )(?<!each )\bof (?:it|them)[.;:]", r"\blet go\b"),
    *(r"\bgoes? on\b", r"\bthere before\b", r"\bput back\b", r"\bset aside\b"),
)
FIRST_WORDS = r"(?:Who|What|Whoever|Whatever)\b(?![^.?!]*\?)"


def without_code(page: Path) -> str:
    """The text of a page without its code blocks."""
    return re.sub(r"(?ms)^```.*?^```", "", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_lines_are_short(page: Path) -> None:
    """Table rows and lines with a long address cannot be wrapped."""
    long = [
        (number, line)
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > MAX_LINE and not line.startswith("|") and "://" not in line
    ]
    assert long == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_sentences_are_short(page: Path) -> None:
    assert [each for each in sentences(page) if words(each) > MAX_WORDS] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_banned_constructions_are_absent(page: Path) -> None:
    text = without_code(page)
    found = [
        match[0] for pattern in BANNED for match in re.finditer(pattern, plain(text), re.IGNORECASE)
    ]
    assert found == [each for each in sentences(page) if re.match(FIRST_WORDS, each)] == []


def test_readme_is_short() -> None:
    assert len((REPOSITORY / "README.md").read_text().splitlines()) <= README_LINES


def test_every_page_is_in_the_navigation() -> None:
    navigation = (REPOSITORY / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    named = re.findall(r"([\w/-]+\.md)$", navigation, re.MULTILINE)
    pages = {
        str(page.relative_to(REPOSITORY / "docs")) for page in PAGES if page.is_relative_to(DOCS)
    }
    assert (len(named), set(named)) == (len(set(named)), pages)


def help_texts() -> Iterator[tuple[str, str]]:
    """Texts of metrics and of properties, with the name of each."""
    for metrics in all_metrics().values():
        yield from ((metric.name, metric.doc) for metric in metrics)
    for model in (*dict(agent_model.GROUPS).values(), *dict(mongo_model.GROUPS).values()):
        for _, _, declaration in declarations(model):
            yield declaration.name, " ".join(declaration.doc.split())


def test_help_texts_stand_alone() -> None:
    wrong = [
        (subject, text)
        for subject, text in sorted(set(help_texts()))
        if not re.match(r"[A-Z0-9`]", text)
        or not text.endswith(".")
        or re.match(r"(?:It|They|Its|Their|The same|This|That|Who)\b", text)
        or any(re.search(pattern, plain(text), re.IGNORECASE) for pattern in BANNED)
    ]
    assert wrong == []


def slugs(page: Path) -> set[str]:
    """Anchors of the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", without_code(page), re.MULTILINE)
    return {
        re.sub(r"[^\w\s-]", "", LINK.sub(lambda match: match[1], each))
        .strip()
        .lower()
        .replace(" ", "-")
        for each in headings
    }


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_anchors_point_to_headings(page: Path) -> None:
    found = re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", page.read_text(encoding="utf-8"))
    wrong = [
        (target, anchor)
        for target, anchor in found
        if anchor not in slugs((page.parent / target).resolve() if target else page)
    ]
    assert wrong == []


def test_index_equals_the_navigation() -> None:
    navigation = (REPOSITORY / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    sections = re.findall(r"^  - (\w+):$|^      - ([\w/-]+\.md)$", navigation, re.MULTILINE)
    _, _, index = (DOCS / "index.md").read_text(encoding="utf-8").partition("\n## ")
    shown = re.findall(r"^## (\w+)$|^\* \[[^]]+\]\(([\w/-]+\.md)\)$", f"## {index}", re.MULTILINE)
    assert shown == sections


SEARCHED = {
    "capacity": "how-to/sizing.md",
    "rollback": "how-to/upgrade.md",
    "uninstall": "how-to/uninstall.md",
    "consumer": "reference/event-format.md",
    "duplicates": "how-to/spark-dedupe.md",
    "docker": "how-to/install.md",
}
"""Words that users search for, each with the page for them."""


@pytest.mark.parametrize(("searched", "page"), SEARCHED.items())
def test_searched_word_is_in_its_page(searched: str, page: str) -> None:
    assert searched in without_code(DOCS / page).lower()
