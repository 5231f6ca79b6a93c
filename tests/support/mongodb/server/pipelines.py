"""Stages of aggregation over plain documents: what drivers send for their own helpers, and what
stands behind `$changeStream`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tests.support.mongodb.server.errors import CommandError
from tests.support.mongodb.server.expressions import ABSENT, DESCEND, KEEP, PRUNE, evaluated
from tests.support.mongodb.server.key_string import order
from tests.support.mongodb.server.matching import is_match, values_at
from tests.support.mongodb.server.updates import put, with_fields
from tests.support.mongodb.server.wire import Document

Stage = Mapping[str, Any]
# What the server allows behind `$changeStream`.
STREAM_STAGES = {
    "$match",
    "$project",
    "$redact",
    "$addFields",
    "$set",
    "$unset",
    "$replaceRoot",
    "$replaceWith",
}
# What the server knows and does not allow there.
OTHER_STAGES = {
    "$bucketAuto",
    "$count",
    "$facet",
    "$graphLookup",
    "$group",
    "$limit",
    "$lookup",
    "$merge",
    "$out",
    "$sample",
    "$skip",
    "$sort",
    "$unwind",
}


def stage_name(stage: Stage) -> str:
    if len(stage) != 1:
        message = "A pipeline stage specification object must contain exactly one field."
        raise CommandError(40323, message)
    return next(iter(stage))


def transformed(document: Document, stages: Iterable[Stage]) -> Document | None:
    """One document through stages that take one at a time; None where it is filtered away."""
    for stage in stages:
        name = stage_name(stage)
        argument = stage[name]
        match name:
            case "$match":
                if not is_match(argument, document):
                    return None
            case "$project":
                document = projected(document, argument)
            case "$redact":
                found = _redacted(document, argument)
                if found is None:
                    return None
                document = found
            case "$addFields" | "$set":
                document = with_fields(document, argument)
            case "$unset":
                names = [argument] if isinstance(argument, str) else argument
                document = projected(document, dict.fromkeys(names, 0))
            case "$replaceRoot" | "$replaceWith":
                root = argument["newRoot"] if name == "$replaceRoot" else argument
                document = _new_root(root, document)
            case _:
                raise CommandError(40324, f"Unrecognized pipeline stage name: '{name}'")
    return document


def _redacted(document: Document, expression: Any) -> Document | None:
    """The document without what the expression prunes, None where that is all of it."""
    decision = evaluated(expression, document)
    if decision == PRUNE:
        return None
    if decision == KEEP:
        return document
    if decision != DESCEND:
        raise CommandError(
            17053, "$redact's expression must evaluate to $$KEEP, $$PRUNE, $$DESCEND"
        )
    return dict(_redacted_fields(document, expression))


def _redacted_fields(document: Document, expression: Any) -> Iterator[tuple[str, Any]]:
    for name, value in document.items():
        if isinstance(value, list):
            parts = [_redacted_value(each, expression) for each in value]
            yield name, [each for each in parts if each is not ABSENT]
        elif (part := _redacted_value(value, expression)) is not ABSENT:
            yield name, part


def _redacted_value(value: Any, expression: Any) -> Any:
    if not isinstance(value, dict):
        return value
    found = _redacted(value, expression)
    return ABSENT if found is None else found


def _new_root(expression: Any, document: Document) -> Document:
    root = evaluated(expression, document)
    if not isinstance(root, dict):
        message = "'newRoot' expression must evaluate to an object"
        raise CommandError(40228, f"{message}, but resulting value was: {root!r}")
    return root


def aggregated(documents: Iterator[Document], stages: Sequence[Stage]) -> Iterator[Document]:
    for stage in stages:
        name = stage_name(stage)
        if name in STREAM_STAGES:
            documents = _each(documents, stage)
        else:
            if name not in _WHOLE:
                raise CommandError(40324, f"Unrecognized pipeline stage name: '{name}'")
            documents = _WHOLE[name](documents, stage[name])
    return documents


def _each(documents: Iterator[Document], stage: Stage) -> Iterator[Document]:
    for document in documents:
        result = transformed(document, [stage])
        if result is not None:
            yield result


def _sorted(documents: Iterator[Document], keys: Mapping[str, int]) -> Iterator[Document]:
    found = list(documents)
    for path, direction in reversed(list(keys.items())):
        if path == "$natural":
            found = found if direction > 0 else found[::-1]
        else:
            found.sort(key=lambda each: _sort_key(each, path, direction), reverse=direction < 0)
    return iter(found)


def _sort_key(document: Document, path: str, direction: int) -> bytes:
    """A missing field sorts as null; an array by its least or greatest element."""
    values: list[Any] = []
    for value in values_at(document, path):
        values += value if isinstance(value, list) and value else [value]
    keys = [order(value) for value in values] or [order(None)]
    return min(keys) if direction > 0 else max(keys)


def _limited(documents: Iterator[Document], limit: int) -> Iterator[Document]:
    return (each for each, _ in zip(documents, range(limit), strict=False))


def _skipped(documents: Iterator[Document], count: int) -> Iterator[Document]:
    return (each for number, each in enumerate(documents) if number >= count)


def _counted(documents: Iterator[Document], name: str) -> Iterator[Document]:
    count = sum(1 for _ in documents)
    return iter([{name: count}] if count else [])


def _grouped(documents: Iterator[Document], group: Mapping[str, Any]) -> Iterator[Document]:
    """The form of a driver's `count_documents`: one group, numbers summed up."""
    sums = {name: value for name, value in group.items() if name != "_id"}
    if not all(isinstance(value, Mapping) and value.get("$sum") == 1 for value in sums.values()):
        raise CommandError(2, "of $group only sums of 1 are known")
    count = sum(1 for _ in documents)
    return iter([{"_id": group["_id"], **dict.fromkeys(sums, count)}] if count else [])


_WHOLE: dict[str, Callable[[Iterator[Document], Any], Iterator[Document]]] = {
    "$sort": _sorted,
    "$limit": _limited,
    "$skip": _skipped,
    "$count": _counted,
    "$group": _grouped,
}


def projected(document: Document, projection: Mapping[str, Any]) -> Document:
    """Inclusion or exclusion by dotted paths, and fields that are computed."""
    chosen = {path: value for path, value in projection.items() if path != "_id"}
    computed = {
        path: value
        for path, value in projection.items()
        if not isinstance(value, bool | int | float)
    }
    includes = (
        bool(computed) or any(chosen.values()) or (not chosen and bool(projection.get("_id")))
    )
    tree = _tree(path for path in chosen if path not in computed)
    if includes and not tree:
        kept: Document = {}
    else:
        kept = _included(document, tree) if includes else _excluded(document, tree)
    for path, expression in computed.items():
        value = evaluated(expression, document)
        if value is not ABSENT:
            put(kept, path, value)
    if "_id" in computed:
        return kept
    if not projection.get("_id", True):
        kept.pop("_id", None)
    elif includes and "_id" in document:
        kept = {"_id": document["_id"], **kept}
    return kept


def _tree(paths: Iterable[str]) -> Document:
    tree: Document = {}
    for path in paths:
        node = tree
        for name in path.split("."):
            node = node.setdefault(name, {})
    return tree


def _included(value: Any, tree: Document) -> Any:
    if not tree:
        return value
    if isinstance(value, list):
        return [_included(each, tree) for each in value if isinstance(each, dict | list)]
    if not isinstance(value, dict):
        return value
    return {
        name: _included(value[name], tree[name])
        for name in value
        if name in tree and (not tree[name] or isinstance(value[name], dict | list))
    }


def _excluded(value: Any, tree: Document) -> Any:
    if isinstance(value, list):
        return [_excluded(each, tree) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _excluded(each, tree[name]) if name in tree else each
        for name, each in value.items()
        if name not in tree or tree[name]
    }
