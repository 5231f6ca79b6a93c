"""Expressions as instructions."""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from sidecar.regular_expressions.syntax import UNBOUNDED, ExpressionError, Node, leaf, scoped

MAX_INSTRUCTIONS = 20_000
MAX_WITH_PARTS = 1_000
"""Of an expression with look-around or atomic groups, which are matched anew at each place."""
_MAX_DEPTH = 50


class Op(IntEnum):
    CHARACTER = 0
    POSITION = 1
    SPLIT = 2
    JUMP = 3
    SAVE = 4
    AHEAD = 5
    NOT_AHEAD = 6
    BEHIND = 7
    NOT_BEHIND = 8
    ATOMIC = 9
    FAIL = 10
    MATCH = 11
    REPEAT = 12


Instruction = tuple[Op, Any, Any]
"""An operation with up to two arguments."""


@dataclass(frozen=True, eq=False)
class Program:
    """Instructions from the first to `MATCH`. Compared as itself, so that it can be a key."""

    instructions: list[Instruction] = field(default_factory=list)


@dataclass
class _Budget:
    """Instructions of a program and all its parts."""

    used: int = 0
    has_parts: bool = False

    def spend(self) -> None:
        self.used += 1
        if self.used > (MAX_WITH_PARTS if self.has_parts else MAX_INSTRUCTIONS):
            raise ExpressionError("too large once its repetitions are written out. Simplify it")


def program(tree: Any, flags: int) -> Program:
    """Raises ExpressionError."""
    return _Writer(_Budget(), 0).program(tree, flags)


class _Writer:
    def __init__(self, budget: _Budget, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise ExpressionError("too deeply nested. Simplify it")
        self._budget = budget
        self._depth = depth
        self._written: list[Instruction] = []

    def program(self, nodes: Any, flags: int) -> Program:
        self._nodes(nodes, flags)
        self._add(Op.MATCH)
        return Program(self._written)

    def _add(self, op: Op, first: Any = None, second: Any = None) -> int:
        self._budget.spend()
        self._written.append((op, first, second))
        return len(self._written) - 1

    def _set(self, place: int, first: Any, second: Any = None) -> None:
        self._written[place] = (self._written[place][0], first, second)

    def _nodes(self, nodes: Any, flags: int) -> None:
        for node in nodes:
            self._node(node, flags)

    def _node(self, node: Node, flags: int) -> None:
        operation, arguments = str(node[0]), node[1]
        match operation:
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
                self._add(Op.CHARACTER, leaf(node, flags).match)
            case "AT":
                self._add(Op.POSITION, leaf(node, flags).match)
            case "FAILURE":
                self._add(Op.FAIL)
            case "SUBPATTERN":
                self._group(arguments, flags)
            case "BRANCH":
                self._branches(arguments[1], flags)
            case "MAX_REPEAT" | "MIN_REPEAT":
                least, most, nodes = arguments
                self._repeat(least, most, nodes, flags, is_greedy=operation == "MAX_REPEAT")
            case "POSSESSIVE_REPEAT":
                greedy = [(_named("MAX_REPEAT"), arguments)]
                self._add(Op.ATOMIC, self._part(greedy, flags))
            case "ATOMIC_GROUP":
                self._add(Op.ATOMIC, self._part(arguments, flags))
            case "ASSERT" | "ASSERT_NOT":
                direction, nodes = arguments
                self._look(direction, nodes, flags, is_negated=operation == "ASSERT_NOT")
            case _:
                raise ExpressionError(
                    "a reference to a group, as `\\1` or `(?(1)…)`, cannot be matched in bounded "
                    "time. Write the alternatives out"
                )

    def _group(self, arguments: Any, flags: int) -> None:
        number, added, removed, nodes = arguments
        if number is not None:
            self._add(Op.SAVE, 2 * number)
        self._nodes(nodes, scoped(flags, added, removed))
        if number is not None:
            self._add(Op.SAVE, 2 * number + 1)

    def _branches(self, branches: Any, flags: int) -> None:
        ends = []
        for nodes in branches[:-1]:
            split = self._add(Op.SPLIT)
            self._nodes(nodes, flags)
            ends.append(self._add(Op.JUMP))
            self._set(split, split + 1, len(self._written))
        self._nodes(branches[-1], flags)
        for end in ends:
            self._set(end, len(self._written))

    def _repeat(self, least: int, most: int, nodes: Any, flags: int, *, is_greedy: bool) -> None:
        for _ in range(least):
            start = len(self._written)
            self._nodes(nodes, flags)
            if len(self._written) == start:
                return
        splits = []
        for _ in range(1 if most == UNBOUNDED else most - least):
            splits.append(self._add(Op.SPLIT))
            self._nodes(nodes, flags)
            if len(self._written) == splits[-1] + 1:
                break
        if most == UNBOUNDED:
            self._add(Op.REPEAT, splits[0], len(self._written) + 1)
        end = len(self._written)
        for split in splits:
            self._set(split, *((split + 1, end) if is_greedy else (end, split + 1)))

    def _look(self, direction: int, nodes: Any, flags: int, *, is_negated: bool) -> None:
        part = self._part(nodes, flags)
        if direction > 0:
            self._add(Op.NOT_AHEAD if is_negated else Op.AHEAD, part)
        else:
            self._add(Op.NOT_BEHIND if is_negated else Op.BEHIND, part, nodes.getwidth()[0])

    def _part(self, nodes: Any, flags: int) -> Program:
        self._budget.has_parts = True
        return _Writer(self._budget, self._depth + 1).program(nodes, flags)


class _named(str):  # noqa: N801  # stands for an operation of the parser, which is one by its text
    """An operation that the parser did not write itself."""
