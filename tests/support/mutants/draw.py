"""Draws mutants and verifies that each parses or compiles."""

import ast
import random
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from tests.support.mutants.modules import MODULES, REPOSITORY, Module
from tests.support.mutants.mutant import AROUND, Mutant, PlaceGoneError

OF_A_MODULE = 10
# Strings and comments, none of which has code; lifetimes have no second quote.
_NO_CODE = {
    ".py": re.compile(r'#[^\n]*|"""(?s:.*?)"""|"(?:\\.|[^"\\\n])*"'),
    ".rs": re.compile(
        r"""//[^\n]*|/\*.*?\*/|b?r(\#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\.[^']*|[^'\\])'""",
        re.DOTALL,
    ),
}
# Lines that decide nothing, such as signatures, assertions and log lines.
_NOT_CODE = re.compile(
    r"\s*(?:#!?\[|@|(?:pub(?:\([^)]*\))? )?(?:use|mod|fn|struct|enum|type|impl|from|import|def|"
    r"class|assert)\b|_?log\w*\.)"
)
_CHANGES = tuple(
    (re.compile(pattern), text, operator)
    for pattern, text, operator in (
        (r"(?<= )==(?= )", "!=", "comparison"),
        (r"(?<= )!=(?= )", "==", "comparison"),
        (r"(?<= )<(?= )", "<=", "boundary"),
        (r"(?<= )<=(?= )", "<", "boundary"),
        (r"(?<= )>(?= )", ">=", "boundary"),
        (r"(?<= )>=(?= )", ">", "boundary"),
        (r"(?<= )<=?(?= )", ">", "comparison"),
        (r"(?<= )>=?(?= )", "<", "comparison"),
        (r"(?<= )is not(?= )", "is", "comparison"),
        (r"(?<= )is(?! not)(?= )", "is not", "comparison"),
        (r"(?<= )not in(?= )", "in", "comparison"),
        (r"\bis_some\(\)", "is_none()", "comparison"),
        (r"\bis_none\(\)", "is_some()", "comparison"),
        (r"\bis_some_and\(", "is_none_or(", "comparison"),
        (r"\bis_none_or\(", "is_some_and(", "comparison"),
        (r"(?<= )&&(?= )", "||", "and/or"),
        (r"(?<= )\|\|(?= )", "&&", "and/or"),
        (r"(?<= )and(?= )", "or", "and/or"),
        (r"(?<= )or(?= )", "and", "and/or"),
        (r"(?<= )\+(?= )", "-", "arithmetic"),
        (r"(?<= )-(?= )", "+", "arithmetic"),
        (r"(?<= )&(?= )", "|", "arithmetic"),
        (r"(?<= )\+=(?= )", "-=", "arithmetic"),
        (r"(?<= )-=(?= )", "+=", "arithmetic"),
        (r"(?<![\w)\]!])!(?=[\w(*])", "", "not"),
        (r"(?<!is )\bnot (?!in )", "", "not"),
        (r"\b(?:if|while) (?!let\b)([^{}\0]+?)(?= \{)", "!({})", "not"),
        (r"\b(?:if|elif|while) (?!not )([^{}\0]+)(?=:$)", "not ({})", "not"),
        (r"\bmin\(", "max(", "min/max"),
        (r"\bmax\(", "min(", "min/max"),
        (r"\bany\(", "all(", "min/max"),
        (r"\ball\(", "any(", "min/max"),
        (r"\btrue\b", "false", "constant"),
        (r"\bfalse\b", "true", "constant"),
        (r"\bTrue\b", "False", "constant"),
        (r"\bFalse\b", "True", "constant"),
        (r"(?<![\w.\"'])(\d+)(?![\w.])", "{} + 1", "constant"),
        (r"\bbreak(?=;?$)", "continue", "break/continue"),
        (r"\bcontinue(?=;?$)", "break", "break/continue"),
        (r"\breturn Ok\(Some\(.*\)\);", "return Ok(None);", "return value"),
        (r"\breturn [^;]+$", "return None", "return value"),
        (r"^(?!(?:let|const|static|break|continue)\b)[\w*(].*;$", "", "statement removed"),
        (r"^(?:raise .*|[\w.]+\(.*\)|self\.[\w.]+ [-+]?= .*)$", "pass", "statement removed"),
    )
)


def draw(seed: int, report: Callable[[str], None]) -> Iterator[Mutant]:
    """Ten mutants of each module, of ten different lines: first the kind of change is drawn, then
    the change. So rare kinds are drawn as often as frequent ones."""
    for module in MODULES.values():
        chance = random.Random(f"{seed} {module.name}")
        pool = [each for path in module.paths() for each in _candidates(module, path)]
        report(f"{module.name}: {len(pool)} possible mutants")
        number = 1
        while number <= OF_A_MODULE:
            kind = chance.choice(sorted({mutant.operator for mutant in pool}))
            mutant = chance.choice([each for each in pool if each.operator == kind])
            pool.remove(mutant)
            if _is_valid(module, mutant):
                pool = [
                    each for each in pool if (each.file, each.line) != (mutant.file, mutant.line)
                ]
                yield replace(mutant, id=f"{module.name}-{number:02}")
                number += 1


def _candidates(module: Module, path: Path) -> Iterator[Mutant]:
    """All changes of a file, outside of its tests."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    blank = _NO_CODE[path.suffix].sub(lambda found: re.sub(r"[^\n]", "\0", found[0]), source)
    for index, code in enumerate(blank.split("#[cfg(test)]")[0].splitlines()):
        start = len(code) - len(code.lstrip())
        line = lines[index]
        if not code.strip(" \0") or _NOT_CODE.match(code):
            continue
        for pattern, text, operator in _CHANGES:
            if text == "pass" and module.is_rust:
                continue
            for found in pattern.finditer(code.rstrip()[start:]):
                begin, end = (start + at for at in found.span(pattern.groups))
                yield Mutant(
                    id="",
                    module=module.name,
                    file=path.relative_to(REPOSITORY).as_posix(),
                    line=index + 1,
                    operator=operator,
                    before=line,
                    after=f"{line[:begin]}{text.format(line[begin:end])}{line[end:]}",
                    above=tuple(lines[max(0, index - AROUND) : index]),
                    below=tuple(lines[index + 1 : index + 1 + AROUND]),
                )


def _is_valid(module: Module, mutant: Mutant) -> bool:
    """Whether a mutant parses or compiles, and its place is found again."""
    try:
        with mutant.applied() as number:
            if number != mutant.line:
                return False
            if module.is_rust:
                command = ["cargo", "check", "--quiet", "--locked", "-p", module.crates[0]]
                done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=False)
                return not done.returncode
            # `break` outside of a loop parses, but does not compile.
            compile(ast.parse(mutant.path.read_text(encoding="utf-8")), mutant.file, "exec")
    except (PlaceGoneError, SyntaxError):
        return False
    return True
