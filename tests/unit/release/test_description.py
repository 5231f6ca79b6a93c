"""Links of the description for an index."""

from release.description import absolute_links

BASE = "https://host.test/owner/name/%s/v1.2.3"


def test_paths_become_links_to_the_version() -> None:
    text = "[Index](docs/index.md), ![page](docs/images/page.png)\n"
    assert absolute_links(text, BASE) == (
        "[Index](https://host.test/owner/name/blob/v1.2.3/docs/index.md), "
        "![page](https://host.test/owner/name/raw/v1.2.3/docs/images/page.png)\n"
    )


def test_links_and_anchors_remain() -> None:
    text = "[a](https://a.test/b) [b](#below) [c](mailto:d@e.test)"
    assert absolute_links(text, BASE) == text


def test_nothing_is_changed_twice() -> None:
    once = absolute_links("[Index](docs/index.md)", BASE)
    assert absolute_links(once, BASE) == once
