"""The server's filter passes every captured event and few others."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mongo_agent.capture.match_stage import CHANGES, fingerprint, match_stage
from mongo_agent.capture.namespaces import Namespaces
from tests.support.mongodb.server.matching import is_match

NAMES = ("shop", "Shop", "shops", "a-b", "a_1", "x")
COLLECTIONS = ("a", "A", "ab", "a.b", "shop.a", "é", "a$b", "system.views", "b,c")
PIECES = (
    *("shop", "shops", "a", "b", "x", "a-b", "."),
    *(
        "[.]",
        r"\.",
        ".*",
        "a+",
        "[ab]",
        "(a|b)",
        "[^a]",
        "b?",
        "a{1,2}",
        "|",
        r"\w",
        "[a-c&&[^b]]",
        "[x[ab]]",
        r"[\]a[b]]",
        "(?i)a",
        "$",
        "é",
    ),
)
patterns = st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join)


def event(database: str, collection: str, operation: str = "insert") -> dict[str, Any]:
    return {"operationType": operation, "ns": {"db": database, "coll": collection}}


@st.composite
def namespaces(draw: st.DrawFn) -> Namespaces:
    lists: dict[str, Any] = {"mode": draw(st.sampled_from(["regex", "literal"]))}
    for what in ("databases", "collections"):
        side = draw(st.sampled_from(["include", "exclude"]))
        lists[f"{side}_{what}"] = tuple(draw(st.lists(patterns, max_size=3)))
    try:
        return Namespaces(**lists)
    except ValueError:
        # These pieces do not form one expression.
        return Namespaces(include_databases=("shop",), include_collections=("shop[.]a",))


@given(namespaces(), st.sampled_from(NAMES), st.sampled_from(COLLECTIONS))
def test_match_stage_passes_every_captured_event(
    wanted: Namespaces, database: str, collection: str
) -> None:
    condition = match_stage(wanted)["$match"]
    if wanted.captures(database, collection):
        assert is_match(condition, event(database, collection))


@pytest.mark.parametrize(
    "lists",
    [
        {"include_databases": ("shop", "x[12]")},
        {"exclude_databases": ("shop", "a.*")},
        {"include_collections": ("shop[.]a", r"shop\.b.*", "x[.](a|b)")},
        {"exclude_collections": ("shop[.]a", "x[.].*")},
        {"include_collections": ("shop.a", "x.b"), "mode": "literal"},
        {"include_databases": ("shop",), "exclude_collections": ("shop[.]b",)},
    ],
)
def test_match_stage_filters_common_lists_exactly(lists: dict[str, Any]) -> None:
    wanted = Namespaces(**lists)
    condition = match_stage(wanted)["$match"]
    for database in ("shop", "shops", "x", "x1", "ab", "admin", "config", "local"):
        for collection in ("a", "b", "bc", "c"):
            is_captured = wanted.captures(database, collection)
            # The server's filter cannot express an alternative, so the agent filters again.
            is_wide = "x[.](a|b)" in wanted.include_collections and database not in (
                *("admin", "config", "local"),
            )
            assert is_match(condition, event(database, collection)) is (is_captured or is_wide)


def test_match_stage_filters_operations() -> None:
    wanted = Namespaces(include_collections=("shop[.]a",))
    condition = match_stage(wanted, ("insert", "delete"), ("drop", "invalidate"))["$match"]
    assert is_match(condition, event("shop", "a", "delete"))
    assert not is_match(condition, event("shop", "a", "update"))
    assert is_match(condition, event("other", "z", "drop"))
    assert is_match(condition, {"operationType": "invalidate"})
    assert is_match(match_stage(wanted)["$match"], event("shop", "a", CHANGES[-1]))


def test_fingerprint_identifies_the_pipeline() -> None:
    one, other = (match_stage(Namespaces(include_databases=(name,))) for name in ("a", "b"))
    assert fingerprint([one]) == fingerprint([dict(reversed(one.items()))])
    assert fingerprint([one]) != fingerprint([other])
    assert fingerprint([one]) != fingerprint([one, {"$changeStreamSplitLargeEvent": {}}])
