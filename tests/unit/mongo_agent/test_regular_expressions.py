"""Both regex engines, compared with Python's."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mongo_agent.encoder import LinearPattern
from mongo_agent.regular_expressions import ExpressionError, compile_pattern

pytestmark = pytest.mark.heavy

ATOMS = st.sampled_from(
    (
        *("a", "b", "B", ".", "[ab]", "[^a]", "[a-]", r"\w", r"\d", r"\s", r"\.", r"\-", "^", "$"),
        *(r"\b", "1", "é", "(?!)", "[+--]", "[[a]", r"\<", "{", "{,2}"),
    )
)
REPEATS = st.sampled_from(
    (
        *("", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}?", "{2,}", "*+", "++", "?+"),
        *("{2}+", "{ 2 }", "{,2}"),
    )
)
GROUPS = (
    *("({})", "(?:{})", "(?i:{})", "(?-i:{})", "(?s:{})", "(?x:{} )"),
    *("(?=b|{})", "(?!{})", "(?>{})"),
)


def _extended(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = st.builds(lambda form, text: form.format(text), st.sampled_from(GROUPS), inner)
    return st.one_of(
        st.builds("".join, st.lists(inner, max_size=3)),
        st.builds(lambda one, other: f"(?:{one}|{other})", inner, inner),
        st.builds(str.__add__, group, REPEATS),
    )


EXPRESSIONS = st.recursive(ATOMS, _extended, max_leaves=8)
# Names contain no line break, because Python's `$` also matches before one.
NAMES = st.text("abB1.é-_+[<{ ", min_size=1, max_size=8)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@settings(max_examples=500, deadline=None)
@given(EXPRESSIONS, NAMES, st.booleans())
def test_both_regex_engines_match_same_names(expression: str, name: str, is_blind: bool) -> None:
    try:
        wanted = re.compile(expression, re.IGNORECASE if is_blind else re.NOFLAG)
    except re.error:
        with pytest.raises(ExpressionError):
            compile_pattern(expression, ignores_case=is_blind)
    else:
        found = compile_pattern(expression, ignores_case=is_blind)
        assert found.matches(name) == (wanted.fullmatch(name) is not None)


@pytest.mark.parametrize(
    ("expression", "names", "others"),
    [
        ("a|ab", ["a", "ab"], ["abc", "xa"]),
        ("[a-z&&[^b]]", ["a", "z"], ["b", "&"]),
        ("[[a-z]&&[^b]]+", ["acz"], ["ab"]),
        ("[a-c[x-z]]+", ["axz"], ["d", "[", "a]"]),
        (r"\p{Lu}\p{L}+", ["Äpfel"], ["äpfel", "A1"]),
        (r"(?<name>a)\z", ["a"], ["b"]),
        (r"\x{61}(?i)b", ["ab", "aB"], ["Ab"]),
        ("a*+a", [], ["a", "aa"]),
        (r"(?<name>a)(?!b).", ["aa"], ["ab"]),
        (r"\Aa\Z", ["a"], ["b"]),
    ],
)
def test_java_expressions_keep_their_meaning(
    expression: str, names: list[str], others: list[str]
) -> None:
    found = compile_pattern(expression)
    assert [name for name in (*names, *others) if found.matches(name)] == names


# One engine counts combining marks as word characters, the other fractions; Java counts neither.
@pytest.mark.parametrize(("name", "is_word"), [("e\u0301", True), ("½", False), ("é", True)])
def test_word_class_follows_unicode(name: str, is_word: bool) -> None:
    assert compile_pattern(r"\w+").matches(name) == is_word


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (r"(\w+)\.(\w+?)(_.*)?", "shop.orders_2024"),
        (r"(?P<a>a+?)(b|ab)*(c)?", "xaababab"),
        (r"((a)|(b))+", "abab"),
        (r"(?<=\.)(o\w*)", "shop.orders"),
        (r"(?<!\.)(o\w*)", "shop.orders"),
        (r"a*+(b)", "aaab"),
        ("a|ab", "ab"),
        ("x", "none"),
    ],
)
def test_both_regex_engines_replace_same_groups(expression: str, text: str) -> None:
    found = compile_pattern(expression)
    groups = [re.compile(expression).groups - number for number in range(found.engine.groups + 1)]
    parts = [part for number in groups for part in ("<$1\\g<0>>", number)]
    template = "".join(rf"<$1\\g<0>>\g<{number}>" for number in groups)
    assert found.replace_first(text, tuple(parts)) == re.sub(expression, template, text, count=1)


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
        "a?" * 200 + "a" * 200 + "b",
        "((a?){20}){20}b",
        r"(\w+\s?)*b",
    ],
)
def test_linear_engine_terminates_on_catastrophic_patterns(expression: str) -> None:
    """Otherwise the test's timeout would end it."""
    found = compile_pattern(expression, ignores_case=True)
    assert isinstance(found.engine, LinearPattern)
    assert not found.matches("a" * 10_000)
    assert found.replace_first("a" * 10_000, ("x",)) == "a" * 10_000


@pytest.mark.parametrize(
    ("expression", "part"),
    [
        ("(a", r"'\(a' is not a regular expression: missing \), .* at position 0"),
        ("shop[", r"'shop\[' is not a regular expression: unterminated .* at position 4"),
        ("a**", "multiple repeat at position 2"),
        ("*a", "nothing to repeat at position 0"),
        (r"(?<=a*)b", "look-behind requires fixed-width"),
        ("((a{1000}){1000}){1000}", "too large"),
        ("(?:(?:){65000}){65000}" * 3 + "(a{300})+" * 10_000, "too large|65536 are allowed"),
        ("a" * 70_000, "65536 are allowed"),
        ("(" * 30_000 + ")" * 30_000, "Simplify"),
        ("a)(b", "unbalanced parenthesis at position 1"),
    ],
)
def test_invalid_pattern_is_rejected_with_reason(expression: str, part: str) -> None:
    with pytest.raises(ExpressionError, match=part):
        compile_pattern(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "shop[.].*",
        r"(shop|crm)\.(orders|people|items_\d+)",
        r"db\d{1,3}\..*_v[0-9]+",
        "(?-i:Shop)[.]a",
        r"(\w{1,63}\.){1,4}\w{1,120}",
        r"[*+?]+\*+\??[.]--a",
        *(re.escape(text) for text in ("a b-c{1}", "<a>~#&", "tab\there")),
    ],
)
def test_ordinary_expressions_take_linear_time(expression: str) -> None:
    found = compile_pattern(expression, ignores_case=True)
    assert isinstance(found.engine, LinearPattern)
    assert found.warning is None


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("(?!tmp).*[.]orders", "look-around"),
        (r"(\w+)[.]\1", "backreferences are not supported"),
        ("a*+b", r"`\*\+` has a different meaning"),
        (r"\<a", r"`\\<` has a different meaning"),
        ("[+--]?", r"`\[\+--` has a different meaning"),
        ("(?x)a b", r"`\(\?x` has a different meaning"),
    ],
)
def test_nonlinear_expression_warns_and_is_rejected_in_signals(
    expression: str, reason: str
) -> None:
    found = compile_pattern(expression)
    assert isinstance(found.engine, re.Pattern)
    assert re.search(f"contains `{re.escape(expression)}`, .*{reason}", found.warning or "")
    with pytest.raises(ExpressionError, match=f"bounded time: .*{reason}"):
        compile_pattern(expression, is_linear=True)
