"""Links of the package description for a package index."""

from release.wheels import absolute_links

BASE = "https://host.test/owner/name/%s/v1.2.3"


def test_paths_become_links_to_version() -> None:
    """Applying it twice changes nothing; links and anchors remain."""
    text = "[Index](docs/index.md), ![page](docs/images/page.png)\n"
    found = absolute_links(text, BASE)
    assert found == (
        "[Index](https://host.test/owner/name/blob/v1.2.3/docs/index.md), "
        "![page](https://host.test/owner/name/raw/v1.2.3/docs/images/page.png)\n"
    )
    for same in (found, "[a](https://a.test/b) [b](#below) [c](mailto:d@e.test)"):
        assert absolute_links(same, BASE) == same
