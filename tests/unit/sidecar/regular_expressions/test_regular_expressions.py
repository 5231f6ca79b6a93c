"""Expressions in bounded time, against Python's engine."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.regular_expressions import ExpressionError, compile_bounded
from sidecar.regular_expressions.bounded import BoundedPattern
from sidecar.regular_expressions.program import program
from sidecar.regular_expressions.syntax import parsed


def forced(text: str, flags: int = 0) -> BoundedPattern:
    """In the engine that visits everything once, also where Python's would do."""
    tree = parsed(text, flags)
    return BoundedPattern(re.compile(text, flags), program(tree, int(tree.state.flags)))


ATOMS = st.sampled_from(
    ["a", "b", "B", ".", "[ab]", "[^a]", r"\w", r"\d", r"\.", "^", "$", r"\b", r"\B", "1", "(?!)"]
)
REPEATS = st.sampled_from(["", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}?", "{2,}"])
GROUPS = ("({})", "(?:{})", "(?={})", "(?!{})", "(?i:{})", "(?-i:{})", "(?>{})")


def _extended(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = st.builds(lambda form, text: form.format(text), st.sampled_from(GROUPS), inner)
    return st.one_of(
        st.builds("".join, st.lists(inner, max_size=3)),
        st.builds(lambda one, other: f"(?:{one}|{other})", inner, inner),
        st.builds(str.__add__, group, REPEATS),
    )


EXPRESSIONS = st.recursive(ATOMS, _extended, max_leaves=8)
TEXTS = st.text("abB1.é\n", max_size=8)


@settings(max_examples=300, deadline=None)
@given(EXPRESSIONS, TEXTS, st.booleans())
def test_both_engines_match_the_same_texts(expression: str, text: str, is_blind: bool) -> None:
    flags = re.IGNORECASE if is_blind else re.NOFLAG
    wanted = re.compile(expression, flags).fullmatch(text) is not None
    assert forced(expression, flags).matches(text) == wanted
    assert compile_bounded(expression, flags).matches(text) == wanted


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (r"(\w+)\.(\w+?)(_.*)?", "shop.orders_2024"),
        (r"(?P<a>a+?)(b|ab)*(c)?", "xaababab"),
        (r"((a)|(b))+", "abab"),
        (r"(?<=\.)(o\w*)", "shop.orders"),
        (r"(?<!\.)(o\w*)", "shop.orders"),
        (r"(?=(sh))(s)(?!x)", "shop"),
        (r"(?>a+)(b)", "aaab"),
        (r"a*+(b)", "aaab"),
        (r"(?>((?:^|.))*)", "1"),
        (r"(?>(?:^|.)+)(.)", "12"),
        ("x", "none"),
    ],
)
def test_both_engines_find_the_same_groups(expression: str, text: str) -> None:
    found = re.compile(expression).search(text)
    wanted = found and tuple(found.span(number) for number in range(found.re.groups + 1))
    assert forced(expression).first(text) == wanted
    assert compile_bounded(expression).first(text) == wanted


@pytest.mark.parametrize(
    "expression",
    [
        "(a+)+b",
        "(a|aa)+b",
        "(a|a?)+b",
        "(.*a){25}b",
        "([a-z]+)*b",
        ".*" * 30 + "b",
        "(a|a)" * 40 + "b",
        "(?=(a+)+b)a*",
        "(?!(a+)+b)(a+)+c",
        "(?>(a+)+b)",
        "a?" * 200 + "a" * 200 + "b",
        "((a?){20}){20}b",
    ],
)
def test_patterns_that_backtrack_forever_in_python_terminate(expression: str) -> None:
    """The test's own time-out would end it."""
    found = compile_bounded(expression, re.IGNORECASE)
    assert found.program is not None
    assert not found.matches("a" * 255)
    found.first("a" * 255)


@pytest.mark.parametrize(
    ("expression", "part"),
    [
        ("(a", "not a regular expression"),
        (r"(?<=a*)b", "not a regular expression"),
        (r"((\w+)\2)+", "reference to a group"),
        (r"(a)?(.*)+(?(1)b|c)", "reference to a group"),
        ("((a{1000}){1000}){1000}", "too large"),
        ("(?:(?:){65000}){65000}" * 3 + "(a+)+" * 10_000, "too large"),
        ("(?=a)" + "(?:ab|c){600}", "too large"),
        ("a" * 70_000, "65536 are allowed"),
        ("(" * 30_000 + ")" * 30_000, "Simplify"),
    ],
)
def test_unbounded_patterns_are_rejected_with_a_reason(expression: str, part: str) -> None:
    with pytest.raises(ExpressionError, match=part):
        compile_bounded(expression)


def test_ordinary_expressions_stay_with_pythons_engine() -> None:
    for expression in (
        "shop[.].*",
        "(?!tmp).*[.]orders",
        r"(shop|crm)\.(orders|people|items_\d+)",
        r"db\d{1,3}\..*_v[0-9]+",
        "(?-i:Shop)[.]a",
        r"(\w+)[.]\1",
    ):
        assert compile_bounded(expression, re.IGNORECASE).program is None
