"""axe-core in the browser: no violation, in both colour schemes, on a phone and a desktop."""

import base64
import hashlib
import io
import subprocess
import tarfile
import tempfile
from functools import cache
from pathlib import Path

from tests.acceptance.page.browser import Browser, BrowserError

VERSION = "4.14.1"
_SHA512 = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
"""Checksum of the package in its registry."""
_CACHE = Path(".cache") / "axe-core"
_SIZES = ((360, 740, True), (1280, 800, False))
_RUN = """
axe.run(document, { resultTypes: ["violations"] }).then((found) => found.violations.flatMap(
  (rule) => rule.nodes.map((node) => rule.id + ": " + node.html + " — " + node.failureSummary)))
"""


@cache
def axe_script() -> str:
    """axe-core of the pinned version, downloaded once by npm. Raises BrowserError."""
    package = _CACHE / f"axe-core-{VERSION}.tgz"
    if not package.exists():
        _CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_CACHE) as folder:
            command = ["npm", "pack", f"axe-core@{VERSION}", "--silent"]
            try:
                subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
            except (OSError, subprocess.SubprocessError) as error:
                raise BrowserError(f"npm cannot download axe-core: {error}.") from error
            (Path(folder) / package.name).rename(package)
    content = package.read_bytes()
    if base64.b64encode(hashlib.sha512(content).digest()).decode() != _SHA512:
        raise BrowserError(f"{package} is not axe-core {VERSION}: delete it.")
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        member = archive.extractfile("package/axe.min.js")
        assert member is not None
        return member.read().decode()


def require_accessible(browser: Browser, state: str) -> int:
    """Check the current page in each colour scheme and size. Raises BrowserError; returns the
    number of checks."""
    count = 0
    for width, height, is_phone in _SIZES:
        for scheme in ("light", "dark"):
            browser.look(width, height, scheme, is_phone=is_phone)
            if browser.value("typeof axe") == "undefined":
                browser.value(f"{axe_script()}; 0")
            found = browser.value(_RUN)
            if found:
                where = f"{state}, {scheme}, {width} px"
                raise BrowserError(f"axe-core, {where}:\n" + "\n".join(found))
            if browser.value(
                "document.documentElement.scrollWidth > document.documentElement.clientWidth"
            ):
                raise BrowserError(f"{state}, {width} px: the page is wider than the screen.")
            count += 1
    return count
