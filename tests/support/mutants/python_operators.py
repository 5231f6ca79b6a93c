"""The changes of Python lines: small edits of real code, by the syntax tree."""

import ast
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], tuple[str, tuple[tuple[str, str], ...]]] = {
    ast.Eq: ("==", (("comparison", "!="),)),
    ast.NotEq: ("!=", (("comparison", "=="),)),
    ast.Lt: ("<", (("boundary", "<="), ("comparison", ">="))),
    ast.LtE: ("<=", (("boundary", "<"), ("comparison", ">"))),
    ast.Gt: (">", (("boundary", ">="), ("comparison", "<="))),
    ast.GtE: (">=", (("boundary", ">"), ("comparison", "<"))),
    ast.Is: ("is", (("comparison", "is not"),)),
    ast.IsNot: ("is not", (("comparison", "is"),)),
    ast.In: ("in", (("comparison", "not in"),)),
    ast.NotIn: ("not in", (("comparison", "in"),)),
}
_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.BitOr: ("|", "&"),
    ast.BitAnd: ("&", "|"),
}
_SWAPPED_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
_LOG_METHODS = {"critical", "debug", "error", "exception", "info", "log", "resolved", "warning"}


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces the columns `start` to `end` of a line, which counts from 1."""

    line: int
    start: int
    end: int
    text: str
    operator: str

    def of(self, line: str) -> str:
        return f"{line[: self.start]}{self.text}{line[self.end :]}"


def python_edits(source: str) -> list[Edit]:
    """All edits of a file that change what it does, as far as the syntax tells."""
    lines = source.splitlines()
    finder = _Finder(lines)
    finder.visit(ast.parse(source))
    return finder.edits


class _Finder(ast.NodeVisitor):
    """Passes over annotations, decorators, log lines, error texts and assertions."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._is_in_function = False
        self.edits: list[Edit] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer, self._is_in_function = self._is_in_function, True
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        self._visit_all(node.body)
        self._is_in_function = outer

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_all(node.body)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None and self._is_in_function:
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        is_attribute = isinstance(node.targets[0], ast.Attribute | ast.Subscript)
        if self._is_in_function and is_attribute:
            self._delete(node)
        names = {target.id for target in node.targets if isinstance(target, ast.Name)}
        if not names & {"__all__", "__slots__"}:
            self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._delete(node)
        swap = _ARITHMETIC.get(type(node.op))
        if swap is not None:
            old, new = (f"{operator}=" for operator in swap)
            self._between(node.target, node.value, old, new, "arithmetic")
        self.visit(node.value)

    def visit_Delete(self, node: ast.Delete) -> None:
        self._delete(node)

    def visit_Break(self, node: ast.Break) -> None:
        self._replace(node, "continue", "break/continue")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._replace(node, "break", "break/continue")

    def visit_Raise(self, node: ast.Raise) -> None:
        self._delete(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        return

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        return

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call) and not _is_log(node.value):
            self._delete(node)
            self.visit(node.value)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is None:
            self._replace(node, "pass", "return removed")
            return
        if not isinstance(node.value, ast.Constant):
            self._replace(node.value, "None", "return value")
        elif isinstance(node.value.value, bool):
            self._replace(node.value, str(not node.value.value), "return value")
            return
        self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        if not isinstance(node.test, ast.Constant):
            self._negate(node.test)
            self.generic_visit(node)
        else:
            self._visit_all(node.body)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        left = node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            old, swaps = _COMPARISONS[type(operator)]
            for kind, new in swaps:
                self._between(left, right, old, new, kind)
            left = right
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between(left, right, old, new, "and/or")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not) and node.operand.lineno == node.lineno:
            start = self._column(node.lineno, node.col_offset)
            end = self._column(node.lineno, node.operand.col_offset)
            if self._lines[node.lineno - 1][start:end] == "not ":
                self.edits.append(Edit(node.lineno, start, end, "", "not"))
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        swap = _ARITHMETIC.get(type(node.op))
        if swap is not None:
            self._between(node.left, node.right, *swap, "arithmetic")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if _is_log(node):
            return
        if isinstance(node.func, ast.Name) and node.func.id in _SWAPPED_CALLS:
            self._replace(node.func, _SWAPPED_CALLS[node.func.id], "min/max")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._replace(node, str(not node.value), "constant")
        elif isinstance(node.value, int):
            self._replace(node, str(node.value + 1), "constant")

    def _visit_all(self, nodes: list[ast.stmt]) -> None:
        for node in nodes:
            self.visit(node)

    def _column(self, line: int, offset: int) -> int:
        """The syntax tree counts bytes."""
        return len(self._lines[line - 1].encode()[:offset].decode())

    def _span(self, node: ast.stmt | ast.expr) -> tuple[int, int] | None:
        """The columns of a node of one line."""
        if node.end_lineno != node.lineno or node.end_col_offset is None:
            return None
        line = node.lineno
        return self._column(line, node.col_offset), self._column(line, node.end_col_offset)

    def _replace(self, node: ast.stmt | ast.expr, text: str, operator: str) -> None:
        span = self._span(node)
        if span is not None:
            self.edits.append(Edit(node.lineno, *span, text, operator))

    def _delete(self, node: ast.stmt) -> None:
        self._replace(node, "pass", "statement removed")

    def _negate(self, test: ast.expr) -> None:
        span = self._span(test)
        is_negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        if span is not None and not is_negated:
            text = self._lines[test.lineno - 1][slice(*span)]
            self.edits.append(Edit(test.lineno, *span, f"not ({text})", "not"))

    def _between(self, left: ast.expr, right: ast.expr, old: str, new: str, operator: str) -> None:
        """Replaces the operator between two operands, where it is on the line of one of them."""
        assert left.end_lineno is not None and left.end_col_offset is not None
        for line in sorted({left.end_lineno, right.lineno}):
            text = self._lines[line - 1]
            is_left, is_right = line == left.end_lineno, line == right.lineno
            start = self._column(line, left.end_col_offset) if is_left else 0
            end = self._column(line, right.col_offset) if is_right else len(text)
            place = f" {text[start:end]} ".find(f" {old} ")
            if place >= 0:
                at = start + place
                self.edits.append(Edit(line, at, at + len(old), new, operator))
                return


def _is_log(call: ast.Call) -> bool:
    function = call.func
    return (isinstance(function, ast.Name) and function.id == "fields") or (
        isinstance(function, ast.Attribute) and function.attr in _LOG_METHODS
    )
