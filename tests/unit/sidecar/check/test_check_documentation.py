"""The documentation lists exactly the codes of warnings and faults."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[4]
ROOMS = ("sidecar/check", "sidecar/cli", "agent/check", "mongo_agent/check")


def calls() -> Iterator[ast.Call]:
    """Calls that create a warning or a fault."""
    for room in ROOMS:
        for file in sorted((REPOSITORY / room).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                match node:
                    case ast.Call(func=ast.Name(id="fault" | "warning" | "found")):
                        yield node


def codes() -> set[str]:
    found = set()
    for call in calls():
        (code,) = (each.value for each in call.keywords if each.arg == "code")
        assert isinstance(code, ast.Constant)
        found.add(str(code.value))
    return found


def test_every_check_code_is_documented() -> None:
    text = (REPOSITORY / "docs" / "reference" / "conditions.md").read_text(encoding="utf-8")
    section = text.partition("\n## Checks\n")[2].partition("\n## ")[0]
    table = [line for line in section.splitlines() if line.startswith("| ")][2:]
    documented = {code for line in table for code in re.findall(r"`([a-z]+(?:_[a-z]+)+)`", line)}
    assert documented == codes()
