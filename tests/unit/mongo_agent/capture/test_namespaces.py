"""The collections that the lists of a configuration select."""

from typing import Any

import pytest

from mongo_agent.capture.namespaces import Namespaces, split_patterns


@pytest.mark.parametrize(
    ("text", "patterns"),
    [
        ("", ()),
        (" , ,", ()),
        ("shop[.]a, shop[.]b", ("shop[.]a", "shop[.]b")),
        ("shop[.]a{1,2},b", ("shop[.]a{1,2}", "b")),
        ("[,]x,(a,b),c", ("[,]x", "(a,b)", "c")),
        (r"a\,b,c", (r"a\,b", "c")),
        ("[{],b", ("[{]", "b")),
    ],
)
def test_comma_inside_expression_does_not_split(text: str, patterns: tuple[str, ...]) -> None:
    assert split_patterns(text) == patterns


@pytest.mark.parametrize(
    ("lists", "taken", "left"),
    [
        ({}, ["shop.a", "Shop.b"], ["admin.x", "local.oplog.rs", "config.y", "shop.system.views"]),
        ({"include_databases": ("db1",)}, ["db1.a", "DB1.a"], ["db10.a", "xdb1.a"]),
        ({"exclude_databases": ("db1",)}, ["db10.a"], ["db1.a"]),
        ({"include_collections": ("shop[.].*",)}, ["shop.a", "shop.a.b"], ["shops.a", "xshop.a"]),
        ({"exclude_collections": ("shop[.]a",)}, ["shop.ab", "x.a"], ["shop.a", "SHOP.A"]),
        ({"include_collections": (".*[.]x",)}, ["shop.y.x", "shop.x"], ["shop.xy"]),
        # As a pattern for the whole name, the manuals' own example matches no collection.
        ({"include_collections": ("inventory[.]*",)}, [], ["inventory.orders"]),
        (
            {"include_databases": ("shop",), "exclude_collections": ("shop[.]b",)},
            ["shop.a"],
            ["shop.b", "y.a"],
        ),
        (
            {"include_collections": ("shop.a", "shop.b.c"), "mode": "literal"},
            ["shop.a", "shop.b.c"],
            ["shopx.a", "Shop.a", "shop.b"],
        ),
    ],
)
def test_list_patterns_match_whole_names(
    lists: dict[str, Any], taken: list[str], left: list[str]
) -> None:
    namespaces = Namespaces(**lists)
    found = {name: namespaces.captures(*name.split(".", 1)) for name in (*taken, *left)}
    assert found == dict.fromkeys(taken, True) | dict.fromkeys(left, False)


@pytest.mark.parametrize(
    ("name", "is_captured"),
    [
        ("tmp.agg_out.0b3f6f6e-5f9a-4c55-9a5e-0d6bb7f1c2aa", False),
        ("tmp.agg_out.7", False),
        ("tmp.mr.orders_3", False),
        ("tmp.mr.orders_3_inc", False),
        ("tmpA1b2C.renameCollection", False),
        ("tmpA1b2C.convertToCapped.orders", False),
        ("system.resharding.0b3f6f6e-5f9a-4c55-9a5e-0d6bb7f1c2aa", False),
        ("system.buckets.tmp.agg_out.7", False),
        ("tmp", True),
        ("tmp.orders", True),
        ("tmpfiles.agg_out", True),
        ("agg_out.tmp", True),
        ("x.tmp.agg_out.7", True),
    ],
)
def test_temporary_server_collections_are_not_captured(name: str, is_captured: bool) -> None:
    assert Namespaces().captures("shop", name) == is_captured
    assert Namespaces(include_databases=("shop",)).captures("shop", name) == is_captured


@pytest.mark.parametrize("what", ["database", "collection"])
def test_include_and_exclude_list_together_are_rejected(what: str) -> None:
    lists: dict[str, Any] = {f"include_{what}s": ("a",), f"exclude_{what}s": ("b",)}
    with pytest.raises(ValueError, match=f"`{what}.include.list` and `{what}.exclude.list`"):
        Namespaces(**lists)


def test_invalid_expression_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"'shop\[' is not a regular expression"):
        Namespaces(include_databases=("shop[",))
