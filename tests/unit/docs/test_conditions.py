"""`conditions.md` lists exactly the codes of both agents, with their agent and status."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.heavy

REPOSITORY = Path(__file__).resolve().parents[3]
PAGE = REPOSITORY / "docs/reference/conditions.md"
_AGENTS = {"agent": {"Cassandra"}, "mongo_agent": {"MongoDB"}, "sidecar": {"Cassandra", "MongoDB"}}
_COLUMN = {"both": {"Cassandra", "MongoDB"}, "Cassandra": {"Cassandra"}, "MongoDB": {"MongoDB"}}
_CODE = re.compile(r"`([a-z0-9_]+)`")
_WITH_CODE_FIRST = ("Condition", "StreamWarning", "TopicProblem")
_FINDINGS = ("warning", "fault", "found")
"""`found` stands for either of the other two."""


class Code(NamedTuple):
    """A code as defined in the program."""

    name: str
    agents: frozenset[str]
    kind: str
    """The called function or class, such as `Condition`."""
    state: str
    """`degraded` or `failing`; empty where the call does not name it."""


@cache
def _calls() -> list[tuple[str, ast.Call, str]]:
    """Calls of a plain name, as (room, call, name)."""
    names = re.compile(rf"\b(?:{'|'.join((*_WITH_CODE_FIRST, 'SinkState', *_FINDINGS))})\(")
    return [
        (room, node, node.func.id)
        for room in _AGENTS
        for file in sorted((REPOSITORY / room).rglob("*.py"))
        if names.search(source := file.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]


def _literal(node: ast.expr) -> str | None:
    """A constant, or the default of `value or "constant"`."""
    if isinstance(node, ast.BoolOp):
        node = node.values[-1]
    if isinstance(node, ast.Constant):
        return str(node.value)
    return None


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((each.value for each in call.keywords if each.arg == name), None)


def _state(call: ast.Call) -> str:
    state = call.args[1] if len(call.args) > 1 else None
    return state.attr.lower() if isinstance(state, ast.Attribute) else ""


def _codes(*kinds: str) -> list[Code]:
    found = []
    for room, call, kind in _calls():
        if kind not in kinds:
            continue
        is_first = kind in _WITH_CODE_FIRST
        node = call.args[0] if is_first and call.args else _keyword(call, "code")
        name = None if node is None else _literal(node)
        if name:
            agents = frozenset(_AGENTS[room])
            found.append(Code(name, agents, kind, _state(call) if kind == "Condition" else ""))
    return found


def _agents_by_code(codes: list[Code]) -> dict[str, set[str]]:
    agents: dict[str, set[str]] = {}
    for code in codes:
        agents.setdefault(code.name, set()).update(code.agents)
    return agents


def _rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without the header row."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


CONDITIONS = _codes(*_WITH_CODE_FIRST, "SinkState")
FINDINGS = _codes(*_FINDINGS)


def _listed_conditions() -> dict[str, set[str]]:
    return {
        code: _COLUMN[agent]
        for names, agent, *_ in _rows("Conditions")
        for code in _CODE.findall(names)
    }


def test_every_condition_is_listed_with_its_agent() -> None:
    listed = _listed_conditions()
    found = _agents_by_code(CONDITIONS)
    assert {code: listed.get(code) for code in found} == found


def test_listed_conditions_exist_in_their_agents() -> None:
    found = _agents_by_code([*CONDITIONS, *FINDINGS])
    wrong = {
        code: agents
        for code, agents in _listed_conditions().items()
        if not agents <= found.get(code, set())
    }
    assert wrong == {}


def test_conditions_have_the_listed_status() -> None:
    states = {code.name: code.state for code in CONDITIONS if code.state}
    listed = {
        code: status
        for names, _, status, *_ in _rows("Conditions")
        for code in _CODE.findall(names)
    }
    assert {code: listed[code] for code in states} == states


def test_check_codes_are_listed() -> None:
    listed = [code for _, codes in _rows("Checks") for code in _CODE.findall(codes)]
    assert (len(listed), set(listed)) == (len(set(listed)), set(_agents_by_code(FINDINGS)))


def test_every_warning_and_fault_has_a_literal_code() -> None:
    """A code from a variable would escape the comparison."""
    calls = [call for _, call, kind in _calls() if kind in _FINDINGS]
    codes = [_keyword(call, "code") for call in calls]
    assert all(code is not None and _literal(code) for code in codes)
    assert len(calls) > 60


def test_check_and_running_agent_use_same_level() -> None:
    """A warning of `check` leaves the running agent healthy; a fault does not."""
    levels = {code.name: code.kind for code in FINDINGS if code.kind != "found"}
    listed = {
        code: "warning" if status == "warning" else "fault"
        for names, _, status, *_ in _rows("Conditions")
        for code in _CODE.findall(names)
    }
    both = levels.keys() & listed.keys()
    assert {code: listed[code] for code in both} == {code: levels[code] for code in both}
