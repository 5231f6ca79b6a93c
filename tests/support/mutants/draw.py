"""Draws mutants and verifies that each parses or compiles."""

import ast
import random
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from tests.support.mutants.modules import MODULES, REPOSITORY, Module
from tests.support.mutants.mutant import Mutant, PlaceGoneError
from tests.support.mutants.python_operators import python_edits
from tests.support.mutants.rust_operators import rust_edits

OF_A_MODULE = 10


def draw(seed: int, tell: Callable[[str], None]) -> Iterator[Mutant]:
    """Ten mutants of each module, of ten different lines: first the kind of change is drawn, then
    the change. So rare kinds are drawn as often as frequent ones."""
    for module in MODULES.values():
        chance = random.Random(f"{seed} {module.name}")
        pool = _candidates(module)
        tell(f"{module.name}: {len(pool)} possible mutants")
        drawn: list[Mutant] = []
        while len(drawn) < OF_A_MODULE:
            kinds = sorted({mutant.operator for mutant in pool})
            kind = chance.choice(kinds)
            mutant = chance.choice([each for each in pool if each.operator == kind])
            pool.remove(mutant)
            if not _is_valid(module, mutant):
                continue
            pool = [each for each in pool if (each.file, each.line) != (mutant.file, mutant.line)]
            drawn.append(replace(mutant, id=f"{module.name}-{len(drawn) + 1:02}"))
        yield from drawn


def _candidates(module: Module) -> list[Mutant]:
    edits = rust_edits if module.is_rust else python_edits
    found = []
    for path in module.paths():
        source = path.read_text(encoding="utf-8")
        lines = source.splitlines()
        for edit in edits(source):
            after = edit.of(lines[edit.line - 1])
            found.append(Mutant.at(module.name, path, lines, edit.line, after, edit.operator))
    return found


def _is_valid(module: Module, mutant: Mutant) -> bool:
    """Whether a mutant parses or compiles, and its place is found again."""
    try:
        with mutant.applied() as number:
            if number != mutant.line:
                return False
            return _compiles(module) if module.is_rust else _parses(mutant.path)
    except PlaceGoneError:
        return False


def _parses(path: Path) -> bool:
    """`break` outside of a loop parses, but does not compile."""
    try:
        compile(ast.parse(path.read_text(encoding="utf-8")), path, "exec")
    except SyntaxError:
        return False
    return True


def _compiles(module: Module) -> bool:
    command = ["cargo", "check", "--quiet", "--locked", "--package", module.crates[0]]
    return not subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=False).returncode
