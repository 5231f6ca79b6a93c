"""The README for a package index, which knows no paths of the repository."""

import re

_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<path>(?!https?:|#|mailto:)[^)]+)\)")


def absolute_links(markdown: str, repository: str) -> str:
    """`repository` names a version: `https://host/owner/name/%s/v1.2.3`; `%s` is blob or raw."""

    def absolute(found: re.Match[str]) -> str:
        base = repository % ("raw" if found["image"] else "blob")
        return f"{found['image']}[{found['text']}]({base}/{found['path']})"

    return _LINK.sub(absolute, markdown)
