"""The pages of the documentation, and their prose as sentences."""

import re
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
DOCS = REPOSITORY / "docs"
PAGES = sorted((*REPOSITORY.glob("*.md"), *DOCS.rglob("*.md"), *(REPOSITORY / "k8s").rglob("*.md")))

LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_CODE = re.compile(r"`+[^`]*`+")
_END = re.compile(r'(?<=[.!?:;])\s+(?=[A-Z"`*\[(0-9])')
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf)\.")


def prose(page: Path) -> Iterator[str]:
    """Paragraphs, list items and headings as plain text, without code blocks and tables."""
    paragraph: list[str] = []
    is_code = False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.lstrip().startswith("```"):
            is_code = not is_code
        is_text = not is_code and line.strip() and not line.startswith(("|", "#", "```", "<"))
        starts = re.match(r"\s*(?:[*+-]|\d+\.)\s", line)
        if paragraph and (not is_text or starts):
            yield plain(" ".join(paragraph))
            paragraph = []
        if is_text and not line.lstrip().startswith("```"):
            paragraph.append(re.sub(r"^\s*(?:[*+-]|\d+\.)\s+", "", line).strip())
    if paragraph:
        yield plain(" ".join(paragraph))


def plain(text: str) -> str:
    text = LINK.sub(lambda match: match[1], text)
    text = _CODE.sub("Code", text)
    return _ABBREVIATION.sub("for example", text).replace("**", "").replace("*", "")


def sentences(page: Path) -> Iterator[str]:
    for paragraph in prose(page):
        yield from (each.strip() for each in _END.split(paragraph) if each.strip())


def words(sentence: str) -> int:
    return len(re.findall(r"[^\W_][\w'’.,-]*", sentence))


def name(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))
