"""Texts of the programs, as they stand in their modules."""

import ast
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]


def texts_of(tree: ast.Module) -> Iterator[str]:
    """The texts of a module without docstrings, with `{}` for inserted values."""
    skipped = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for part in ast.walk(node)
        if part is not node
    }
    for node in ast.walk(tree):
        if id(node) not in skipped and (text := _text(node)) is not None:
            yield text


def _text(node: ast.AST) -> str | None:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(str(p.value) if isinstance(p, ast.Constant) else "{}" for p in parts)
    return None
