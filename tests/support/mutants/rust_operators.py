"""The changes of Rust lines: small edits of real code, by patterns over lines without strings."""

import re
from collections.abc import Iterator

from tests.support.mutants.python_operators import Edit

# Strings, comments and characters, none of which has code; lifetimes have no second quote.
_NO_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(\#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\.[^']*|[^'\\])'""", re.DOTALL
)
_SWAPS: tuple[tuple[str, str, str], ...] = (
    (r"(?<= )==(?= )", "!=", "comparison"),
    (r"(?<= )!=(?= )", "==", "comparison"),
    (r"(?<= )<(?= )", "<=", "boundary"),
    (r"(?<= )<=(?= )", "<", "boundary"),
    (r"(?<= )>(?= )", ">=", "boundary"),
    (r"(?<= )>=(?= )", ">", "boundary"),
    (r"(?<= )<=?(?= )", ">", "comparison"),
    (r"(?<= )>=?(?= )", "<", "comparison"),
    (r"(?<= )&&(?= )", "||", "and/or"),
    (r"(?<= )\|\|(?= )", "&&", "and/or"),
    (r"(?<= )\+(?= )", "-", "arithmetic"),
    (r"(?<= )-(?= )", "+", "arithmetic"),
    (r"(?<= )&(?= )", "|", "arithmetic"),
    (r"(?<= )\+=(?= )", "-=", "arithmetic"),
    (r"(?<= )-=(?= )", "+=", "arithmetic"),
    (r"(?<![\w)\]!])!(?=[\w(*])", "", "not"),
    (r"\bis_some\(\)", "is_none()", "comparison"),
    (r"\bis_none\(\)", "is_some()", "comparison"),
    (r"\bis_some_and\(", "is_none_or(", "comparison"),
    (r"\bis_none_or\(", "is_some_and(", "comparison"),
    (r"\.min\(", ".max(", "min/max"),
    (r"\.max\(", ".min(", "min/max"),
    (r"\.any\(", ".all(", "min/max"),
    (r"\.all\(", ".any(", "min/max"),
    (r"\btrue\b", "false", "constant"),
    (r"\bfalse\b", "true", "constant"),
    (r"\bbreak;", "continue;", "break/continue"),
    (r"\bcontinue;", "break;", "break/continue"),
    (r"\breturn Ok\(Some\(.*\)\);", "return Ok(None);", "return value"),
)
_NUMBER = re.compile(r"(?<![\w.\"'])\d+(?![\w.])")
_NEGATED = re.compile(r"\b(?:if|while) (?!let\b)([^{}]+?)(?= \{)")
_NOT_CODE = re.compile(
    r"\s*(?:#!?\[|(?:pub(?:\([^)]*\))? )?(?:use|mod|fn|struct|enum|type|impl)\b)"
)
_STATEMENT = re.compile(r"\s*(?!let\b|const\b|static\b|type\b|use\b|break\b|continue\b)[\w*(].*;$")


def rust_edits(source: str) -> list[Edit]:
    """All edits of a file that may compile, outside of its tests."""
    return list(_edits(_code_lines(source)))


def _code_lines(source: str) -> list[str]:
    """The lines with strings and comments blanked out, up to the module of the tests."""

    def blank(found: re.Match[str]) -> str:
        text = found.group()
        if text.startswith("/"):
            return re.sub(r"[^\n]", " ", text)
        return re.sub(r"[^\n]", "\0", text)

    return _NO_CODE.sub(blank, source.split("#[cfg(test)]")[0]).splitlines()


def _edits(lines: list[str]) -> Iterator[Edit]:
    last = "{"
    for number, full in enumerate(lines, start=1):
        line = full.rstrip()
        if not line:
            continue
        if _NOT_CODE.match(line) is None:
            for pattern, text, operator in _SWAPS:
                for found in re.finditer(pattern, line):
                    yield Edit(number, *found.span(), text, operator)
            for found in _NUMBER.finditer(line):
                yield Edit(number, *found.span(), str(int(found.group()) + 1), "constant")
            for found in _NEGATED.finditer(line):
                if "let " not in found.group(1) and "\0" not in found.group(1):
                    yield Edit(number, *found.span(1), f"!({found.group(1)})", "not")
            if _STATEMENT.match(line) and last[-1] in "{};":
                is_return = line.lstrip().startswith("return")
                operator = "return removed" if is_return else "statement removed"
                yield Edit(number, len(line) - len(line.lstrip()), len(line), "", operator)
        last = line
