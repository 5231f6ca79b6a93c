"""Hooks of MkDocs for the site of docs/ (`make site`).

Contributors' pages are not in the search, because they would hide guides. Diagrams need Mermaid's
script, which is a file of the site: a browser in a closed network sends no request elsewhere.
"""

import os
import re
import shutil
from pathlib import Path
from typing import Any

_CONTRIBUTORS = "Contributors"
_SCRIPT = Path("assets") / "mermaid.min.js"
_FOREIGN = re.compile(r'<(?:script|link rel="stylesheet")[^>]*(?:src|href)="(?:https?:)?//[^"]+"')


class ForeignRequestError(Exception):
    """A page would load a file from another host."""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Exclude a page of contributors from the search."""
    if any(each.title == _CONTRIBUTORS for each in page.ancestors):
        page.meta["search"] = {"exclude": True}
    return markdown


def on_post_build(config: Any) -> None:
    """Add Mermaid's script, from the path in `MERMAID`, and verify all pages."""
    site = Path(config["site_dir"])
    target = site / _SCRIPT
    target.parent.mkdir(exist_ok=True)
    shutil.copyfile(os.environ["MERMAID"], target)
    for page in site.rglob("*.html"):
        if found := _FOREIGN.search(page.read_text(encoding="utf-8")):
            raise ForeignRequestError(f"{page}: {found[0]}")
